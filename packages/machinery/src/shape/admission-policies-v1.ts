/** The shapes of the admission policies of admissionregistration.k8s.io/v1. */
import {
  admissionregistration,
  matchCondition,
  ruleWithOperations,
} from "./admissionregistration-v1.ts";
import { condition, labelSelector, objectMeta } from "./meta.ts";
import { int64, list, listMap, message, replacedByPatch, set, string } from "./shape.ts";

const namedRule = message(
  `${admissionregistration}.NamedRuleWithOperations`,
  { resourceNames: [1, list(string), "Only objects of these names; empty is all of them."] },
  "Which operations on which resources are meant, and of which names.",
  { isAtomic: true, inlined: [2, ruleWithOperations] },
);

const matchResources = message(
  `${admissionregistration}.MatchResources`,
  {
    namespaceSelector: [1, labelSelector, "Only objects in such namespaces."],
    objectSelector: [2, labelSelector, "Only objects with such labels."],
    resourceRules: [3, list(namedRule), "The operations and resources that are meant."],
    excludeResourceRules: [4, list(namedRule), "Those that are not meant after all."],
    matchPolicy: [
      7,
      string,
      "Whether rules mean other versions of the resource, too: Exact or Equivalent.",
    ],
  },
  "Which requests are meant.",
  { isAtomic: true },
);

const paramKind = message(
  `${admissionregistration}.ParamKind`,
  {
    apiVersion: [1, string, "API version of the parameters."],
    kind: [2, string, "Kind of the parameters."],
  },
  "The kind of object that holds a policy's parameters.",
  { isAtomic: true },
);

const paramRef = message(
  `${admissionregistration}.ParamRef`,
  {
    name: [1, string, "Name of the object. Either this or selector."],
    namespace: [2, string, "Its namespace; empty is the one of the request's object."],
    selector: [3, labelSelector, "Labels of the objects. Either this or name."],
    parameterNotFoundAction: [4, string, "What to do when there is none: Allow or Deny."],
  },
  "The objects that hold a policy's parameters.",
  { isAtomic: true },
);

const variable = message(
  `${admissionregistration}.Variable`,
  {
    name: [1, string, "The name, used as variables.name."],
    expression: [2, string, "A CEL expression for its value."],
  },
  "A value that expressions share.",
  { required: ["name", "expression"], isAtomic: true },
);

const validation = message(
  `${admissionregistration}.Validation`,
  {
    expression: [1, string, "A CEL expression that is true for what is allowed."],
    message: [2, string, "What to say when it is not."],
    reason: [3, string, "The reason of the refusal, such as Forbidden; Invalid by default."],
    messageExpression: [4, string, "A CEL expression for what to say; goes before message."],
  },
  "A rule.",
  { required: ["expression"] },
);

const auditAnnotation = message(
  `${admissionregistration}.AuditAnnotation`,
  {
    key: [1, string, "The key; the policy's name is put before it."],
    valueExpression: [2, string, "A CEL expression for the value; null leaves it out."],
  },
  "A note for the audit log.",
  { required: ["key", "valueExpression"] },
);

const typeChecking = message(
  `${admissionregistration}.TypeChecking`,
  {
    expressionWarnings: [
      1,
      list(
        message(
          `${admissionregistration}.ExpressionWarning`,
          {
            fieldRef: [2, string, "The expression, as a path."],
            warning: [3, string, "What is wrong with it."],
          },
          "What checking found in an expression.",
          { required: ["fieldRef", "warning"] },
        ),
      ),
      "What checking found in the expressions.",
    ],
  },
  "What checking found in the expressions.",
);

const policyFields = {
  paramKind: [1, paramKind, "The kind of the parameters; absent when there are none."],
  matchConstraints: [2, matchResources, "Which requests the policy is about."],
} as const;
const failurePolicy = "What to do when the policy cannot be evaluated: Ignore or Fail.";
const conditions = [
  6,
  listMap(matchCondition, "name"),
  "Only requests that meet all of these; at most 64.",
] as const;

export const validatingAdmissionPolicy = message(
  `${admissionregistration}.ValidatingAdmissionPolicy`,
  {
    metadata: [1, objectMeta, "Standard object metadata."],
    spec: [
      2,
      message(
        `${admissionregistration}.ValidatingAdmissionPolicySpec`,
        {
          ...policyFields,
          validations: [3, list(validation), "The rules. All must hold."],
          failurePolicy: [4, string, failurePolicy],
          auditAnnotations: [5, list(auditAnnotation), "Notes for the audit log; at most 20."],
          matchConditions: conditions,
          variables: [7, listMap(variable, "name"), "Values that expressions share."],
        },
        "What the policy asks.",
      ),
      "What the policy asks.",
    ],
    status: [
      3,
      message(
        `${admissionregistration}.ValidatingAdmissionPolicyStatus`,
        {
          observedGeneration: [1, int64, "The generation that was checked."],
          typeChecking: [2, typeChecking, "What checking found in the expressions."],
          conditions: [
            3,
            replacedByPatch(listMap(condition, "type")),
            "Aspects of the policy's state.",
          ],
        },
        "What is known of the policy.",
      ),
      "What is known of the policy; set by the server.",
    ],
  },
  "Rules in CEL that changes of objects must meet, where a binding puts them in force.",
);

export const mutatingAdmissionPolicy = message(
  `${admissionregistration}.MutatingAdmissionPolicy`,
  {
    metadata: [1, objectMeta, "Standard object metadata."],
    spec: [
      2,
      message(
        `${admissionregistration}.MutatingAdmissionPolicySpec`,
        {
          ...policyFields,
          variables: [3, list(variable), "Values that expressions share."],
          mutations: [4, list(mutation()), "The changes, in order."],
          failurePolicy: [5, string, failurePolicy],
          matchConditions: conditions,
          reinvocationPolicy: [7, string, "Whether it runs again after others: Never or IfNeeded."],
        },
        "What the policy changes.",
      ),
      "What the policy changes.",
    ],
  },
  "Changes in CEL that are made to objects, where a binding puts them in force.",
);

const bindingFields = {
  policyName: [1, string, "The policy that is put in force."],
  paramRef: [2, paramRef, "The policy's parameters."],
  matchResources: [3, matchResources, "Narrows down which requests are meant."],
} as const;

export const validatingAdmissionPolicyBinding = message(
  `${admissionregistration}.ValidatingAdmissionPolicyBinding`,
  {
    metadata: [1, objectMeta, "Standard object metadata."],
    spec: [
      2,
      message(
        `${admissionregistration}.ValidatingAdmissionPolicyBindingSpec`,
        {
          ...bindingFields,
          validationActions: [
            4,
            replacedByPatch(set(string)),
            "What to do with a violation: Deny, Warn, Audit.",
          ],
        },
        "Where and how the policy is in force.",
      ),
      "Where and how the policy is in force.",
    ],
  },
  "Puts a ValidatingAdmissionPolicy in force.",
);

export const mutatingAdmissionPolicyBinding = message(
  `${admissionregistration}.MutatingAdmissionPolicyBinding`,
  {
    metadata: [1, objectMeta, "Standard object metadata."],
    spec: [
      2,
      message(
        `${admissionregistration}.MutatingAdmissionPolicyBindingSpec`,
        bindingFields,
        "Where the policy is in force.",
      ),
      "Where the policy is in force.",
    ],
  },
  "Puts a MutatingAdmissionPolicy in force.",
);

function mutation() {
  const expressed = (name: string, description: string) =>
    message(
      `${admissionregistration}.${name}`,
      { expression: [1, string, "A CEL expression for the change."] },
      description,
    );
  return message(
    `${admissionregistration}.Mutation`,
    {
      patchType: [2, string, "ApplyConfiguration or JSONPatch."],
      applyConfiguration: [
        3,
        expressed("ApplyConfiguration", "A change that is merged as server-side apply does."),
        "The change, for patchType ApplyConfiguration.",
      ],
      jsonPatch: [
        4,
        expressed("JSONPatch", "A change as a list of JSON patch operations."),
        "The change, for patchType JSONPatch.",
      ],
    },
    "A change.",
    { required: ["patchType"] },
  );
}
