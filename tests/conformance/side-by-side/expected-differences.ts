/**
 * Where we mean to answer differently, and why. A line that is no longer needed fails the test.
 *
 * What differs everywhere for one reason (the annotation with the name of the logical cluster,
 * words of parsers, text where we send a Status) is in normalize.ts.
 */
export interface ExpectedDifference {
  readonly topic: string;
  readonly requests: readonly string[];
  /** The place, or the beginning of it. */
  readonly at: string;
  readonly reason: string;
}

const goTypes = "the words name types and files of the Go program";
const clientsFault = "what a client did wrong is no internal error";
const unstored = "what is never stored has no owners of fields";
const anyGroup = "definitions may live in groups without a dot, the core group included";

export const expectedDifferences: readonly ExpectedDifference[] = [
  {
    topic: "creation",
    requests: ["of another kind", "of another version", "of an unknown group"],
    at: "body.message",
    reason: goTypes,
  },
  {
    topic: "creation",
    requests: ["with a creationTimestamp of its own"],
    at: "body.metadata.generation",
    reason: "the generation is the server's to count, also where a kind does not use it",
  },
  {
    topic: "reads",
    requests: ["only its headers"],
    at: "status",
    reason: "HEAD is GET without a body, as HTTP has it",
  },
  {
    topic: "reads",
    requests: ["a continue token that is none"],
    at: "body.message",
    reason: "our tokens are of another make",
  },
  {
    topic: "reads",
    requests: ["one at a version that is no number"],
    at: "status",
    reason: clientsFault,
  },
  {
    topic: "reads",
    requests: ["in a format that is none"],
    at: "body",
    reason: "the words of the Go program's router; ours say the same",
  },
  {
    topic: "updates",
    requests: ["with a version that is no number"],
    at: "status",
    reason: clientsFault,
  },
  {
    topic: "updates",
    requests: ["with another uid"],
    at: "body.message",
    reason: "it tells the key in the store, which is ours",
  },
  { topic: "updates", requests: ["of another kind"], at: "body.message", reason: goTypes },
  {
    topic: "updates",
    requests: ["a secret for docker, not an object"],
    at: "body",
    reason: "parsers word differently what is wrong with a text",
  },
  {
    topic: "patches",
    requests: ["merge: a list", "strategic: not JSON"],
    at: "body.message",
    reason: "parsers word differently what is wrong with a text",
  },
  {
    topic: "patches",
    requests: ["merge: another kind", "merge: another apiVersion"],
    at: "status",
    reason: "a body of another kind is refused alike, in whatever way it comes",
  },
  {
    topic: "patches",
    requests: [
      "merge: a version that is no number",
      "strategic: without a key",
      "strategic: an unknown directive",
    ],
    at: "status",
    reason: clientsFault,
  },
  {
    topic: "patches",
    requests: ["a type of patch that is none"],
    at: "body",
    reason: "the words of the Go program's router; ours say which types there are",
  },
  {
    topic: "applies",
    requests: ["of another version", "a wrong type of a map"],
    at: "body.message",
    reason: goTypes,
  },
  {
    topic: "applies",
    requests: ["YAML that is none"],
    at: "body.message",
    reason: "parsers word differently what is wrong with a text",
  },
  {
    topic: "deletion",
    requests: ["with a body that is no options", "with a body that is no JSON"],
    at: "body.message",
    reason: goTypes,
  },
  {
    topic: "validation",
    requests: ["twice: by default", "twice: ignored"],
    at: "body",
    reason: "of a member that stands twice the last one counts; Go merges the two",
  },
  {
    topic: "watches",
    requests: ["a version that is no number"],
    at: "status",
    reason: clientsFault,
  },
  {
    topic: "definitions",
    requests: [
      "a plain one",
      "with no additional properties",
      "for nothing",
      "with names that are taken",
    ],
    at: "body.status.conditions",
    reason: "an empty list is a list",
  },
  { topic: "definitions", requests: ["with a group of one word"], at: "status", reason: anyGroup },
  { topic: "definitions", requests: ["without a spec"], at: "body", reason: anyGroup },
  {
    topic: "definitions",
    requests: ["without versions", "with two storage versions", "with the same version twice"],
    at: "body",
    reason: goTypes,
  },
  {
    topic: "definitions",
    requests: ["with a version that is no label"],
    at: "body",
    reason: "the same is not told again of spec.version, a field of a version long gone",
  },
  {
    topic: "definitions",
    requests: ["change its status"],
    at: "status",
    reason: "nothing can be stored in a version that is not defined",
  },
  {
    topic: "definitions",
    requests: ["delete the second", "delete the first"],
    at: "body.metadata.generation",
    reason: "deletion is counted as for every other kind",
  },
  {
    topic: "definitions",
    requests: ["delete the first"],
    at: "body",
    reason: "its status was not changed before",
  },
  {
    topic: "custom-resources",
    requests: ["the definition"],
    at: "body.status.conditions",
    reason: "an empty list is a list",
  },
  {
    topic: "custom-resources",
    requests: ["a number for an object", "status: something bad"],
    at: "body",
    reason: "what the schema refuses is not told a second time for the paths of scale",
  },
  {
    topic: "custom-resources",
    requests: ["without a kind"],
    at: "status",
    reason: "the path says the kind, so that the body need not",
  },
  {
    topic: "custom-resources",
    requests: ["of another version"],
    at: "headers.warning",
    reason: "a body of another version is not looked into",
  },
  {
    topic: "custom-resources",
    requests: ["with a bad label", "with a label that is no string"],
    at: "body.message",
    reason: "ours say which value it is",
  },
  {
    topic: "custom-resources",
    requests: ["to a name"],
    at: "status",
    reason: "one creates in a collection, not in an object",
  },
  {
    topic: "custom-resources",
    requests: ["in protobuf only"],
    at: "",
    reason: "protobuf is read, not written",
  },
  {
    topic: "custom-versions",
    requests: ["define", "define wheels"],
    at: "body.status.conditions",
    reason: "an empty list is a list",
  },
  {
    topic: "custom-versions",
    requests: ["with a plain finalizer"],
    at: "headers.warning",
    reason: "not every update of an object shall warn of a finalizer that it has had for long",
  },
  {
    topic: "discovery",
    requests: ["to discovery", "discovery"],
    at: "status",
    reason: "there is nothing to create or delete there",
  },
  {
    topic: "discovery",
    requests: ["a cluster's resource in a namespace"],
    at: "",
    reason: "a longer way to spell a namespace, which leads nowhere else",
  },
  {
    topic: "roles",
    requests: ["cluster role: a bad selector"],
    at: "body",
    reason: "the same is not told a second time",
  },
  { topic: "roles", requests: ["another role for a binding"], at: "body", reason: goTypes },
  {
    topic: "reviews",
    requests: [
      "subject: may",
      "subject: may not",
      "subject: a path",
      "subject: with a selector",
      "local: may",
      "local: without a namespace of its own",
      "self: dora may",
      "self: dora may not",
      "token: a wrong one",
    ],
    at: "body.metadata.managedFields",
    reason: unstored,
  },
  {
    topic: "reviews",
    requests: ["subject: masters", "self: the administrator"],
    at: "body",
    reason: `${unstored}; and we say why masters may`,
  },
  {
    topic: "reviews",
    requests: ["subject: about both", "subject: with a name", "local: about a path"],
    at: "body",
    reason: goTypes,
  },
  {
    topic: "tokens",
    requests: [
      "a token",
      "for an hour, for somebody",
      "for the server",
      "with a name of its own",
      "bound to a secret",
    ],
    at: "body.metadata.managedFields",
    reason: unstored,
  },
  { topic: "tokens", requests: ["of another kind"], at: "body.message", reason: goTypes },
  {
    topic: "tokens",
    requests: ["looked at", "looked at by others", "looked at for one of two"],
    at: "body.metadata.managedFields",
    reason: unstored,
  },
  {
    topic: "tokens",
    requests: ["looked at", "looked at for one of two"],
    at: "body.status.user.extra",
    reason: "accounts are told with their logical cluster",
  },
  { topic: "traffic", requests: ["request: without anything"], at: "body", reason: goTypes },
  {
    topic: "webhooks",
    requests: [
      "validating: other-version",
      "validating: unknown-version",
      "validating: other-kind",
      "mutating: patch-kind",
    ],
    at: "body",
    reason: goTypes,
  },
  {
    topic: "webhooks",
    requests: ["validating: away"],
    at: "body",
    reason: "a redirect is not followed: it would lead where nobody has agreed to go",
  },
  {
    topic: "webhooks",
    requests: ["mutating: patch-text"],
    at: "body",
    reason: "parsers word differently what is wrong with a text",
  },
  {
    topic: "webhooks",
    requests: [
      "told before: a create",
      "told before: of a generated name",
      "told before: an update",
      "told before: a patch",
    ],
    at: "body.message",
    reason: "mutating webhooks see what was sent, before it has owners and a patch has a version",
  },
  {
    topic: "validating-policies",
    requests: ["denied: of all"],
    at: "body",
    reason: "ours say which of them could not be deleted",
  },
  {
    topic: "mutating-policies",
    requests: ["refused: a patch of unknown members"],
    at: "body",
    reason: "ours say that there is no such member",
  },
  {
    topic: "workloads",
    requests: [
      "Job: updated without a version",
      "Job: updated with another label",
      "Job: a status through the main resource",
    ],
    at: "body",
    reason: "a Job's template has no generated labels here: the clusters label the Pods",
  },
  {
    topic: "workloads",
    requests: ["Job: deleted"],
    at: "headers.warning",
    reason: "the copies of a Job in the clusters go with it, and their Pods",
  },
  {
    topic: "custom-edges",
    requests: ["without a kind", "without a version"],
    at: "",
    reason: "the path says which kind a body is of, as for built-in kinds",
  },
  {
    topic: "custom-edges",
    requests: ["a scale above the limit"],
    at: "body.message",
    reason: goTypes,
  },
  {
    topic: "custom-edges",
    requests: ["a scale is applied", "a scale is applied by another"],
    at: "body",
    reason: "replicas are owned in the version of the object",
  },
  {
    topic: "custom-edges",
    requests: ["a scale is applied by force"],
    at: "",
    reason: "the real server cannot convert the Scale of a custom resource that is applied",
  },
  {
    topic: "custom-edges",
    requests: ["who owns the replicas"],
    at: "body",
    reason: "the apply by force went through here",
  },
  {
    topic: "custom-edges",
    requests: ["null for an object is applied"],
    at: "",
    reason: "null is absence here, in an apply as in a create",
  },
  {
    topic: "custom-edges",
    requests: ["discovery as YAML"],
    at: "body",
    reason: "the same document, whose lists are indented",
  },
  {
    topic: "custom-edges",
    requests: ["with a finalizer without a domain"],
    at: "headers.warning",
    reason: "no warnings about names of finalizers are sent",
  },
  {
    topic: "native-core",
    requests: [
      "PersistentVolumeClaim v1: put, another class",
      "PersistentVolumeClaim v1: put, other modes",
      "PersistentVolumeClaim v1: put, less",
      "PersistentVolume v1: put, another source",
    ],
    at: "body.message",
    reason: "the change is not told again as a comparison of structures of the Go program",
  },
  {
    topic: "native-core",
    requests: ["LimitRange v1: without a name"],
    at: "",
    reason: "the name is required of every kind; no kind gets a UID for a name",
  },
  {
    topic: "native-core",
    requests: [
      "ReplicationController v1: deleted again",
      "ReplicationController v1: nothing is left",
    ],
    at: "",
    reason: "its copies in the clusters go with it, and their Pods: there are no orphans to keep",
  },
  {
    topic: "native-autoscaling",
    requests: ["HorizontalPodAutoscaler autoscaling/v2: no policies"],
    at: "",
    reason: "an empty list of policies is none, as in protobuf, and gets the defaults",
  },
  {
    topic: "native-networking",
    requests: ["ServiceCIDR networking.k8s.io/v1: three blocks"],
    at: "body.message",
    reason: goTypes,
  },
  {
    topic: "native-policies",
    requests: [
      "PodDisruptionBudget policy/v1: both",
      "RuntimeClass node.k8s.io/v1: a toleration twice",
    ],
    at: "body.message",
    reason: goTypes,
  },
  {
    topic: "native-policies",
    requests: ["PriorityClass scheduling.k8s.io/v1: put, a description"],
    at: "body.metadata.generation",
    reason: "the generation counts every change but those of metadata and status",
  },
  {
    topic: "native-claims",
    requests: [
      "ResourceClaim resource.k8s.io/v1: put, other devices",
      "ResourceClaimTemplate resource.k8s.io/v1: put, other devices",
    ],
    at: "body.message",
    reason: goTypes,
  },
  {
    topic: "native-warnings",
    requests: ["seccomp: Pod"],
    at: "headers.warning",
    reason: "of a refused object only the errors are told",
  },
  {
    topic: "native-edges",
    requests: [
      "StatefulSet with faults, 2",
      "Job with faults, 9",
      "Service with faults, 14",
      "PersistentVolume with faults, 25",
      "Pod with faults, 35",
    ],
    at: "body.message",
    reason: goTypes,
  },
  {
    topic: "native-edges",
    requests: ["Job with faults, 6"],
    at: "body",
    reason: "a Job's template has no generated labels here: the clusters label the Pods",
  },
  {
    topic: "native-edges",
    requests: ["Service with faults, 15"],
    at: "body.spec",
    reason: "a Service has the addresses that its clusters give to its copies, and none of its own",
  },
  {
    topic: "native-edges",
    requests: ["ControllerRevision with faults, 34"],
    at: "status",
    reason: "a value of another type is refused where it is decoded",
  },
];
