/** The shapes of the core group's kinds. Numbers are those of the published protobuf files. */
import { objectMeta } from "./meta.ts";
import {
  bool,
  bytes,
  int32,
  list,
  listMap,
  map,
  message,
  microTime,
  quantity,
  string,
  time,
} from "./shape.ts";

const core = "io.k8s.api.core.v1";

export const configMap = message(
  `${core}.ConfigMap`,
  {
    metadata: [1, objectMeta, "Standard object metadata."],
    data: [2, map(string), "Configuration as text. Keys are file names."],
    binaryData: [3, map(bytes), "Configuration that is not UTF-8, in base64."],
    immutable: [4, bool, "When true, only metadata can be changed from then on."],
  },
  "Configuration for others to read.",
);

export const secret = message(
  `${core}.Secret`,
  {
    metadata: [1, objectMeta, "Standard object metadata."],
    data: [2, map(bytes), "The secret data, in base64. Keys are file names."],
    type: [3, string, "What the data is for; decides which keys must be there."],
    stringData: [4, map(string), "Write-only: text that is merged into data."],
    immutable: [5, bool, "When true, only metadata can be changed from then on."],
  },
  "Data that fewer eyes may see.",
);

const namespaceCondition = message(
  `${core}.NamespaceCondition`,
  {
    type: [1, string, "What the condition is about."],
    status: [2, string, "True, False or Unknown."],
    lastTransitionTime: [4, time, "When the status last changed."],
    reason: [5, string, "A word for programs."],
    message: [6, string, "A sentence for people."],
  },
  "One aspect of how far deletion has come.",
  { required: ["type", "status"] },
);

export const namespace = message(
  `${core}.Namespace`,
  {
    metadata: [1, objectMeta, "Standard object metadata."],
    spec: [
      2,
      message(`${core}.NamespaceSpec`, {
        finalizers: [1, list(string), "What must be emptied before the namespace goes."],
      }),
    ],
    status: [
      3,
      message(`${core}.NamespaceStatus`, {
        phase: [1, string, "Active or Terminating."],
        conditions: [2, listMap(namespaceCondition, "type"), "How far deletion has come."],
      }),
    ],
  },
  "A scope for names, access and quotas.",
);

export const objectReference = message(
  `${core}.ObjectReference`,
  {
    kind: [1, string, "Kind of the object."],
    namespace: [2, string, "Namespace of the object; empty for cluster-scoped kinds."],
    name: [3, string, "Name of the object."],
    uid: [4, string, "UID of the object."],
    apiVersion: [5, string, "API version in which the object is meant."],
    resourceVersion: [6, string, "The version of the object that is meant."],
    fieldPath: [7, string, "The part of the object that is meant, such as a container."],
  },
  "Points at another object.",
  { isAtomic: true },
);

export const eventSource = message(
  `${core}.EventSource`,
  {
    component: [1, string, "The component that reported."],
    host: [2, string, "The node it ran on."],
  },
  "Where an event comes from.",
);

/** Both event APIs have a series of their own name with the same members. */
export const eventSeriesFields = {
  count: [1, int32, "How often it happened, up to the last time observed."],
  lastObservedTime: [2, microTime, "When it last happened."],
} as const;

export const event = message(
  `${core}.Event`,
  {
    metadata: [1, objectMeta, "Standard object metadata."],
    involvedObject: [2, objectReference, "The object that the event is about."],
    reason: [3, string, "A word for programs: why it happened."],
    message: [4, string, "A sentence for people."],
    source: [5, eventSource, "The component that reported."],
    firstTimestamp: [6, time, "When it was first recorded."],
    lastTimestamp: [7, time, "When it was last recorded."],
    count: [8, int32, "How often it happened."],
    type: [9, string, "Normal or Warning; others may come."],
    eventTime: [10, microTime, "When it was first observed."],
    series: [
      11,
      message(`${core}.EventSeries`, eventSeriesFields, "Repetitions of one event."),
      "What is known of its repetitions; absent when it happened once.",
    ],
    action: [12, string, "What was done, or failed, regarding the object."],
    related: [13, objectReference, "A second object, for more complex actions."],
    reportingComponent: [
      14,
      string,
      "The controller that reported, such as kubernetes.io/kubelet.",
    ],
    reportingInstance: [15, string, "The instance of that controller."],
  },
  "A report of something that happened to an object. Events are kept for a short time only.",
  { required: ["metadata", "involvedObject"] },
);

export const serviceAccount = message(
  `${core}.ServiceAccount`,
  {
    metadata: [1, objectMeta, "Standard object metadata."],
    secrets: [2, listMap(objectReference, "name"), "Secrets that Pods of this account may use."],
    imagePullSecrets: [
      3,
      list(
        message(
          `${core}.LocalObjectReference`,
          { name: [1, string, "Name of the object."] },
          "Points at an object in the same namespace.",
          { isAtomic: true },
        ),
      ),
      "Secrets with which images are pulled.",
    ],
    automountServiceAccountToken: [4, bool, "Whether Pods get a token of this account."],
  },
  "An identity for programs.",
);

const scopeRequirement = message(
  `${core}.ScopedResourceSelectorRequirement`,
  {
    scopeName: [1, string, "The scope that is looked at."],
    operator: [2, string, "In, NotIn, Exists or DoesNotExist."],
    values: [3, list(string), "The values for In and NotIn."],
  },
  "A condition on one scope.",
  { required: ["scopeName", "operator"] },
);

const scopeSelector = message(
  `${core}.ScopeSelector`,
  { matchExpressions: [1, list(scopeRequirement), "Requirements that must all hold."] },
  "Selects objects by the scopes they are in.",
  { isAtomic: true },
);

export const resourceQuota = message(
  `${core}.ResourceQuota`,
  {
    metadata: [1, objectMeta, "Standard object metadata."],
    spec: [
      2,
      message(
        `${core}.ResourceQuotaSpec`,
        {
          hard: [1, map(quantity), "The most that there may be of each resource."],
          scopes: [2, list(string), "Counts only what is in all of these scopes."],
          scopeSelector: [3, scopeSelector, "Counts only what is in these scopes."],
        },
        "The limits that are to hold.",
      ),
      "The limits that are to hold.",
    ],
    status: [
      3,
      message(
        `${core}.ResourceQuotaStatus`,
        {
          hard: [1, map(quantity), "The limits that are held."],
          used: [2, map(quantity), "How much there is at present."],
        },
        "The limits that are held, and what is used of them.",
      ),
      "The limits that are held, and what is used of them.",
    ],
  },
  "Limits for what one namespace may hold.",
);
