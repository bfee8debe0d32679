/** The shapes of flowcontrol.apiserver.k8s.io/v1. Numbers are those of the published protobuf files. */
import { objectMeta } from "./meta.ts";
import { bool, int32, list, listMap, message, set, string, time } from "./shape.ts";

const flowcontrol = "io.k8s.api.flowcontrol.v1";

function conditionOf(kind: string) {
  return message(
    `${flowcontrol}.${kind}Condition`,
    {
      type: [1, string, "What is told, such as Dangling."],
      status: [2, string, "True, False or Unknown."],
      lastTransitionTime: [3, time, "When the status last changed."],
      reason: [4, string, "Why, in one word."],
      message: [5, string, "Why, for people."],
    },
    "One thing that is known about the object.",
  );
}

function named(kind: string, what: string) {
  return message(
    `${flowcontrol}.${kind}`,
    { name: [1, string, `${what}; * is all of them.`] },
    `${what}.`,
    { required: ["name"] },
  );
}

const subject = message(
  `${flowcontrol}.Subject`,
  {
    kind: [1, string, "User, Group or ServiceAccount."],
    user: [2, named("UserSubject", "The name of a user"), "For kind User."],
    group: [3, named("GroupSubject", "The name of a group"), "For kind Group."],
    serviceAccount: [
      4,
      message(
        `${flowcontrol}.ServiceAccountSubject`,
        {
          namespace: [1, string, "The service account's namespace."],
          name: [2, string, "Its name; * is all of the namespace."],
        },
        "A service account.",
        { required: ["namespace", "name"] },
      ),
      "For kind ServiceAccount.",
    ],
  },
  "Whose requests are meant.",
  { required: ["kind"] },
);

const resourceRule = message(
  `${flowcontrol}.ResourcePolicyRule`,
  {
    verbs: [1, set(string), "Verbs; * is all of them."],
    apiGroups: [2, set(string), "API groups; * is all of them."],
    resources: [3, set(string), "Resources, with subresources after a slash; * is all of them."],
    clusterScope: [4, bool, "Whether requests without a namespace are meant."],
    namespaces: [5, set(string), "Namespaces; * is all of them."],
  },
  "Requests for resources.",
  { required: ["verbs", "apiGroups", "resources"] },
);

const nonResourceRule = message(
  `${flowcontrol}.NonResourcePolicyRule`,
  {
    verbs: [1, set(string), "Verbs; * is all of them."],
    nonResourceURLs: [6, set(string), "Paths; /* at the end is everything below."],
  },
  "Requests for paths that are no resources.",
  { required: ["verbs", "nonResourceURLs"] },
);

const rules = message(
  `${flowcontrol}.PolicyRulesWithSubjects`,
  {
    subjects: [1, list(subject), "Whose requests are meant."],
    resourceRules: [2, list(resourceRule), "Which of them, for resources."],
    nonResourceRules: [3, list(nonResourceRule), "Which of them, for other paths."],
  },
  "Requests of some subjects.",
  { required: ["subjects"] },
);

export const flowSchema = message(
  `${flowcontrol}.FlowSchema`,
  {
    metadata: [1, objectMeta, "Standard object metadata."],
    spec: [
      2,
      message(
        `${flowcontrol}.FlowSchemaSpec`,
        {
          priorityLevelConfiguration: [
            1,
            message(
              `${flowcontrol}.PriorityLevelConfigurationReference`,
              { name: [1, string, "The name of the level."] },
              "A priority level.",
              { required: ["name"] },
            ),
            "The level that the requests belong to.",
          ],
          matchingPrecedence: [2, int32, "Lower comes first, from 1 to 10000; 1000 by default."],
          distinguisherMethod: [
            3,
            message(
              `${flowcontrol}.FlowDistinguisherMethod`,
              { type: [1, string, "ByUser or ByNamespace."] },
              "What makes requests one flow.",
              { required: ["type"] },
            ),
            "How flows are told apart; without it all requests are one flow.",
          ],
          rules: [4, list(rules), "Which requests are meant: those that one of these matches."],
        },
        "Which requests belong to which level.",
        { required: ["priorityLevelConfiguration"] },
      ),
      "Which requests belong to which level.",
    ],
    status: [
      3,
      message(
        `${flowcontrol}.FlowSchemaStatus`,
        { conditions: [1, listMap(conditionOf("FlowSchema"), "type"), "What is known."] },
        "What is known about the schema.",
      ),
      "What is known about the schema.",
    ],
  },
  "A group of requests that are queued alike.",
);

const limitResponse = message(
  `${flowcontrol}.LimitResponse`,
  {
    type: [1, string, "Queue or Reject."],
    queuing: [
      2,
      message(
        `${flowcontrol}.QueuingConfiguration`,
        {
          queues: [1, int32, "Queues of the level; 64 by default."],
          handSize: [2, int32, "Queues that one flow may use; 8 by default."],
          queueLengthLimit: [3, int32, "Requests that may wait in one; 50 by default."],
        },
        "How much may wait.",
      ),
      "For type Queue: how much may wait.",
    ],
  },
  "What happens to requests that find no seat.",
  { required: ["type"] },
);

export const priorityLevelConfiguration = message(
  `${flowcontrol}.PriorityLevelConfiguration`,
  {
    metadata: [1, objectMeta, "Standard object metadata."],
    spec: [
      2,
      message(
        `${flowcontrol}.PriorityLevelConfigurationSpec`,
        {
          type: [1, string, "Exempt or Limited."],
          limited: [
            2,
            message(
              `${flowcontrol}.LimitedPriorityLevelConfiguration`,
              {
                nominalConcurrencyShares: [1, int32, "Its share of all seats; 30 by default."],
                limitResponse: [2, limitResponse, "What happens to requests that find no seat."],
                lendablePercent: [3, int32, "How much of it others may use, in percent."],
                borrowingLimitPercent: [4, int32, "How much of others' it may use, in percent."],
              },
              "Seats and queues of a level.",
            ),
            "For type Limited: seats and queues.",
          ],
          exempt: [
            3,
            message(
              `${flowcontrol}.ExemptPriorityLevelConfiguration`,
              {
                nominalConcurrencyShares: [1, int32, "Its share of all seats; 0 by default."],
                lendablePercent: [2, int32, "How much of it others may use, in percent."],
              },
              "What an exempt level means for others.",
            ),
            "For type Exempt: what it means for others.",
          ],
        },
        "How requests of the level are limited.",
        { required: ["type"] },
      ),
      "How requests of the level are limited.",
    ],
    status: [
      3,
      message(
        `${flowcontrol}.PriorityLevelConfigurationStatus`,
        {
          conditions: [
            1,
            listMap(conditionOf("PriorityLevelConfiguration"), "type"),
            "What is known.",
          ],
        },
        "What is known about the level.",
      ),
      "What is known about the level.",
    ],
  },
  "A class of requests with seats of its own.",
);
