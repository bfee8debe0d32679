/** The shapes of meta.k8s.io/v1 that every kind is built from. Numbers are those of the published protobuf files. */
import {
  bool,
  fields,
  int32,
  int64,
  list,
  listMap,
  map,
  message,
  set,
  string,
  time,
  zeroless,
} from "./shape.ts";

const meta = "io.k8s.apimachinery.pkg.apis.meta.v1";

export const ownerReference = message(
  `${meta}.OwnerReference`,
  {
    apiVersion: [5, string, "API version of the owner."],
    kind: [1, string, "Kind of the owner."],
    name: [3, string, "Name of the owner."],
    uid: [4, string, "UID of the owner: a namesake that was created later does not count."],
    controller: [6, bool, "Whether this owner is the one controller."],
    blockOwnerDeletion: [
      7,
      bool,
      "Whether foreground deletion of the owner waits for this object.",
    ],
  },
  "Names an object that this one belongs to, in the same namespace or cluster-scoped.",
  { required: ["apiVersion", "kind", "name", "uid"], isAtomic: true },
);

export const managedFieldsEntry = message(
  `${meta}.ManagedFieldsEntry`,
  {
    manager: [1, string, "Who manages these fields."],
    operation: [2, string, "Apply or Update."],
    apiVersion: [3, string, "The version in which the fields are written down."],
    time: [4, time, "When the set last changed."],
    fieldsType: [6, string, "Always FieldsV1."],
    fieldsV1: [7, fields, "The set of fields, as a trie."],
    subresource: [8, string, "The subresource through which the fields were written, if any."],
  },
  "The fields of an object that one manager owns.",
);

export const objectMeta = message(
  `${meta}.ObjectMeta`,
  {
    name: [1, string, "Unique among the objects of its kind and namespace."],
    generateName: [
      2,
      string,
      "A prefix from which the server makes a unique name when name is empty.",
    ],
    namespace: [3, string, "The namespace the object is in; empty for cluster-scoped kinds."],
    selfLink: [4, string, "No longer used."],
    uid: [5, string, "Unique over time and space, set by the server."],
    resourceVersion: [6, string, "An opaque value that changes with every write of the object."],
    generation: [7, zeroless(int64), "Counts changes of the desired state."],
    creationTimestamp: [
      8,
      time,
      "CreationTimestamp is a timestamp: when the server created the object.",
    ],
    deletionTimestamp: [
      9,
      time,
      "When deletion was asked for; the object goes when its finalizers are gone.",
    ],
    deletionGracePeriodSeconds: [10, int64, "Seconds until the object may be removed."],
    labels: [11, map(string), "Pairs to select objects by."],
    annotations: [12, map(string), "Pairs for tools and people, not for selection."],
    ownerReferences: [13, listMap(ownerReference, "uid"), "The objects this one belongs to."],
    finalizers: [14, set(string), "What must happen before the object is removed."],
    managedFields: [17, list(managedFieldsEntry), "Who set which fields."],
  },
  "Data that every stored object carries.",
  // An empty list has a meaning: to clear all managers.
  { keepsEmpty: ["managedFields"] },
);

export const preconditions = message(`${meta}.Preconditions`, {
  uid: [1, string, "Refuse unless the object has this UID."],
  resourceVersion: [2, string, "Refuse unless the object is at this version."],
});

export const deleteOptions = message(
  `${meta}.DeleteOptions`,
  {
    apiVersion: [101, string],
    kind: [102, string],
    gracePeriodSeconds: [1, int64, "Seconds before the object is removed."],
    preconditions: [2, preconditions, "What must hold for the deletion to go on."],
    orphanDependents: [3, bool, "Deprecated: use propagationPolicy."],
    propagationPolicy: [4, string, "Orphan, Background or Foreground."],
    dryRun: [5, list(string), "All: do everything but persist."],
    ignoreStoreReadErrorWithClusterBreakingPotential: [6, bool],
  },
  "How to delete.",
);

export const condition = message(
  `${meta}.Condition`,
  {
    type: [1, string, "What the condition is about, in CamelCase."],
    status: [2, string, "True, False or Unknown."],
    observedGeneration: [3, int64, "The generation the condition was set for."],
    lastTransitionTime: [4, time, "When the status last changed."],
    reason: [5, string, "A word for programs."],
    message: [6, string, "A sentence for people."],
  },
  "One aspect of the state of an object.",
  { required: ["type", "status", "lastTransitionTime", "reason", "message"] },
);

export const labelSelectorRequirement = message(
  `${meta}.LabelSelectorRequirement`,
  {
    key: [1, string, "The label key."],
    operator: [2, string, "In, NotIn, Exists or DoesNotExist."],
    values: [3, list(string), "The values for In and NotIn."],
  },
  "A condition on one label.",
  { required: ["key", "operator"] },
);

export const labelSelector = message(
  `${meta}.LabelSelector`,
  {
    matchLabels: [1, map(string), "Pairs that must all be there."],
    matchExpressions: [2, list(labelSelectorRequirement), "Requirements that must all hold."],
  },
  "Selects objects by their labels. An empty selector selects all, an absent one none.",
  { isAtomic: true },
);

export const listMeta = message(
  `${meta}.ListMeta`,
  {
    selfLink: [1, string, "No longer used."],
    resourceVersion: [2, string, "The version that the list shows; a watch goes on from here."],
    continue: [3, string, "Set when there is more: send it to get the next page."],
    remainingItemCount: [4, int64, "How many items are left after this page."],
  },
  "Data that every list carries.",
);

const statusCause = message(
  `${meta}.StatusCause`,
  {
    reason: [1, string, "A word for programs."],
    message: [2, string, "A sentence for people."],
    field: [3, string, "The path of the field that is the cause."],
  },
  "One cause of a failure.",
);

export const status = message(
  `${meta}.Status`,
  {
    apiVersion: [101, string, "Always v1."],
    kind: [102, string, "Always Status."],
    metadata: [1, listMeta, "Standard list metadata."],
    status: [2, string, "Success or Failure."],
    message: [3, string, "A sentence for people."],
    reason: [4, string, "A word for programs."],
    details: [
      5,
      message(
        `${meta}.StatusDetails`,
        {
          name: [1, string, "Name of the object."],
          group: [2, string, "API group of the object."],
          kind: [3, string, "Kind or resource of the object."],
          uid: [6, string, "UID of the object."],
          causes: [4, list(statusCause), "What led to the failure."],
          retryAfterSeconds: [5, int32, "When to try again."],
        },
        "What a Status is about.",
      ),
      "What the Status is about.",
    ],
    code: [6, int32, "The HTTP code."],
  },
  "The answer of a call that does not answer with an object.",
);
