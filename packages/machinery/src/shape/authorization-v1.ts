/** The shapes of authorization.k8s.io/v1. Numbers are those of the published protobuf files. */
import { labelSelectorRequirement, objectMeta } from "./meta.ts";
import { bool, list, type MessageShape, map, message, string } from "./shape.ts";

const authorization = "io.k8s.api.authorization.v1";

const fieldSelectorRequirement = message(
  "io.k8s.apimachinery.pkg.apis.meta.v1.FieldSelectorRequirement",
  {
    key: [1, string, "The field."],
    operator: [2, string, "In, NotIn, Exists or DoesNotExist."],
    values: [3, list(string), "The values for In and NotIn."],
  },
  "A condition on one field.",
  { required: ["key", "operator"] },
);

function selectorAttributes(name: string, requirement: MessageShape) {
  return message(
    `${authorization}.${name}`,
    {
      rawSelector: [1, string, "The selector as in a query; never looked into."],
      requirements: [2, list(requirement), "The selector, taken apart."],
    },
    "A selector that the request would have.",
  );
}

const resourceAttributes = message(
  `${authorization}.ResourceAttributes`,
  {
    namespace: [1, string, "The namespace; empty is all of them, or none."],
    verb: [2, string, "What would be done, such as get or create; * is everything."],
    group: [3, string, "API group of the resource; * is all."],
    version: [4, string, "API version of the resource; * is all."],
    resource: [5, string, "The resource; * is all."],
    subresource: [6, string, "The subresource, if one is meant."],
    name: [7, string, "Name of the object; empty is all of them."],
    fieldSelector: [
      8,
      selectorAttributes("FieldSelectorAttributes", fieldSelectorRequirement),
      "The field selector that the request would have.",
    ],
    labelSelector: [
      9,
      selectorAttributes("LabelSelectorAttributes", labelSelectorRequirement),
      "The label selector that the request would have.",
    ],
  },
  "A request about resources.",
);

const nonResourceAttributes = message(
  `${authorization}.NonResourceAttributes`,
  {
    path: [1, string, "The path of the request."],
    verb: [2, string, "The HTTP method in lower case."],
  },
  "A request about a path that is no resource.",
);

const asked = {
  resourceAttributes: [1, resourceAttributes, "What is asked, when it is about a resource."],
  nonResourceAttributes: [2, nonResourceAttributes, "What is asked, when it is about a path."],
} as const;

const subjectSpec = message(
  `${authorization}.SubjectAccessReviewSpec`,
  {
    ...asked,
    user: [3, string, "The user that is asked about."],
    groups: [4, list(string), "Groups of the user."],
    extra: [5, map(list(string)), "More about the user, from its authenticator."],
    uid: [6, string, "UID of the user."],
  },
  "What is asked, and about whom. One of the two kinds of attributes must be set.",
);

const selfSpec = message(
  `${authorization}.SelfSubjectAccessReviewSpec`,
  asked,
  "What is asked about the sender. One of the two kinds of attributes must be set.",
);

const accessStatus = message(
  `${authorization}.SubjectAccessReviewStatus`,
  {
    allowed: [1, bool, "Whether it is allowed."],
    reason: [2, string, "Why, or why not."],
    evaluationError: [3, string, "What went wrong on the way; the answer may still be right."],
    denied: [4, bool, "Whether it is refused whoever else may allow it."],
  },
  "The answer.",
  { required: ["allowed"] },
);

function accessReview(kind: string, spec: MessageShape, description: string): MessageShape {
  return message(
    `${authorization}.${kind}`,
    {
      metadata: [1, objectMeta, "Standard object metadata; nothing of it is kept."],
      spec: [2, spec, "What is asked."],
      status: [3, accessStatus, "The answer."],
    },
    description,
    { required: ["spec"] },
  );
}

export const subjectAccessReview = accessReview(
  "SubjectAccessReview",
  subjectSpec,
  "Asks whether a user may do something.",
);

export const localSubjectAccessReview = accessReview(
  "LocalSubjectAccessReview",
  subjectSpec,
  "Asks whether a user may do something within a namespace.",
);

export const selfSubjectAccessReview = accessReview(
  "SelfSubjectAccessReview",
  selfSpec,
  "Asks whether the sender may do something.",
);

const resourceRule = message(
  `${authorization}.ResourceRule`,
  {
    verbs: [1, list(string), "What may be done; * is everything."],
    apiGroups: [2, list(string), "API groups of the resources; * is all."],
    resources: [3, list(string), "Resources and subresources; * is all."],
    resourceNames: [4, list(string), "Only objects of these names; empty is all of them."],
  },
  "Something that is allowed about resources.",
  { required: ["verbs"] },
);

const nonResourceRule = message(
  `${authorization}.NonResourceRule`,
  {
    verbs: [1, list(string), "What may be done; * is everything."],
    nonResourceURLs: [2, list(string), "Paths; * at the end is any rest."],
  },
  "Something that is allowed about paths that are no resources.",
  { required: ["verbs"] },
);

export const selfSubjectRulesReview = message(
  `${authorization}.SelfSubjectRulesReview`,
  {
    metadata: [1, objectMeta, "Standard object metadata; nothing of it is kept."],
    spec: [
      2,
      message(
        `${authorization}.SelfSubjectRulesReviewSpec`,
        { namespace: [1, string, "The namespace to list the rules of. Required."] },
        "What is asked.",
      ),
      "What is asked.",
    ],
    status: [
      3,
      message(
        `${authorization}.SubjectRulesReviewStatus`,
        {
          resourceRules: [1, list(resourceRule), "What is allowed about resources."],
          nonResourceRules: [2, list(nonResourceRule), "What is allowed about other paths."],
          incomplete: [3, bool, "Whether there may be more that is allowed."],
          evaluationError: [4, string, "What went wrong on the way."],
        },
        "What is allowed.",
        { required: ["resourceRules", "nonResourceRules", "incomplete"] },
      ),
      "What is allowed.",
    ],
  },
  "Asks what the sender may do within a namespace.",
  { required: ["spec"] },
);
