/**
 * Where we mean to answer differently, and why. A line that is no longer needed fails the test.
 *
 * What differs everywhere for one reason (the annotation with the name of the logical cluster, words of parsers, text where we send a Status) is
 * in normalise.ts.
 */
export interface ExpectedDifference {
  readonly topic: string;
  readonly exchanges: readonly string[];
  /** The place, or the beginning of it. */
  readonly at: string;
  readonly because: string;
}

const goTypes = "the words name types and files of the Go program";
const clientsFault = "what a client did wrong is no internal error";
const unstored = "what is never stored has no owners of fields";
const anyGroup = "definitions may live in groups without a dot, the core group included";

export const expectedDifferences: readonly ExpectedDifference[] = [
  {
    topic: "creation",
    exchanges: ["of another kind", "of another version", "of an unknown group"],
    at: "body.message",
    because: goTypes,
  },
  {
    topic: "creation",
    exchanges: ["with a creationTimestamp of its own"],
    at: "body.metadata.generation",
    because: "the generation is the server's to count, also where a kind does not use it",
  },
  {
    topic: "reads",
    exchanges: ["only its headers"],
    at: "status",
    because: "HEAD is GET without a body, as HTTP has it",
  },
  {
    topic: "reads",
    exchanges: ["a continue token that is none"],
    at: "body.message",
    because: "our tokens are of another make",
  },
  {
    topic: "reads",
    exchanges: ["one at a version that is no number"],
    at: "status",
    because: clientsFault,
  },
  {
    topic: "reads",
    exchanges: ["in a format that is none"],
    at: "body",
    because: "the words of the Go program's router; ours say the same",
  },
  {
    topic: "updates",
    exchanges: ["with a version that is no number"],
    at: "status",
    because: clientsFault,
  },
  {
    topic: "updates",
    exchanges: ["with another uid"],
    at: "body.message",
    because: "it tells the key in the store, which is ours",
  },
  { topic: "updates", exchanges: ["of another kind"], at: "body.message", because: goTypes },
  {
    topic: "updates",
    exchanges: ["a secret for docker, not an object"],
    at: "body",
    because: "parsers word differently what is wrong with a text",
  },
  {
    topic: "patches",
    exchanges: ["merge: a list", "strategic: not JSON"],
    at: "body.message",
    because: "parsers word differently what is wrong with a text",
  },
  {
    topic: "patches",
    exchanges: ["merge: another kind", "merge: another apiVersion"],
    at: "status",
    because: "a body of another kind is refused alike, in whatever way it comes",
  },
  {
    topic: "patches",
    exchanges: [
      "merge: a version that is no number",
      "strategic: without a key",
      "strategic: an unknown directive",
    ],
    at: "status",
    because: clientsFault,
  },
  {
    topic: "patches",
    exchanges: ["a type of patch that is none"],
    at: "body",
    because: "the words of the Go program's router; ours say which types there are",
  },
  {
    topic: "applies",
    exchanges: ["of another version", "a wrong type of a map"],
    at: "body.message",
    because: goTypes,
  },
  {
    topic: "applies",
    exchanges: ["YAML that is none"],
    at: "body.message",
    because: "parsers word differently what is wrong with a text",
  },
  {
    topic: "deletion",
    exchanges: ["with a body that is no options", "with a body that is no JSON"],
    at: "body.message",
    because: goTypes,
  },
  {
    topic: "validation",
    exchanges: ["twice: by default", "twice: ignored"],
    at: "body",
    because: "of a member that stands twice the last one counts; Go merges the two",
  },
  {
    topic: "watches",
    exchanges: ["a version that is no number"],
    at: "status",
    because: clientsFault,
  },
  {
    topic: "definitions",
    exchanges: [
      "a plain one",
      "with no additional properties",
      "for nothing",
      "with names that are taken",
    ],
    at: "body.status.conditions",
    because: "an empty list is a list",
  },
  {
    topic: "definitions",
    exchanges: ["with a group of one word"],
    at: "status",
    because: anyGroup,
  },
  { topic: "definitions", exchanges: ["without a spec"], at: "body", because: anyGroup },
  {
    topic: "definitions",
    exchanges: ["without versions", "with two storage versions", "with the same version twice"],
    at: "body",
    because: goTypes,
  },
  {
    topic: "definitions",
    exchanges: ["with a version that is no label"],
    at: "body",
    because: "the same is not told again of spec.version, a field of a version long gone",
  },
  {
    topic: "definitions",
    exchanges: ["change its status"],
    at: "status",
    because: "nothing can be stored in a version that is not defined",
  },
  {
    topic: "definitions",
    exchanges: ["delete the second", "delete the first"],
    at: "body.metadata.generation",
    because: "deletion is counted as for every other kind",
  },
  {
    topic: "definitions",
    exchanges: ["delete the first"],
    at: "body",
    because: "its status was not changed before",
  },
  {
    topic: "custom-resources",
    exchanges: ["the definition"],
    at: "body.status.conditions",
    because: "an empty list is a list",
  },
  {
    topic: "custom-resources",
    exchanges: ["a number for an object", "status: something bad"],
    at: "body",
    because: "what the schema refuses is not told a second time for the paths of scale",
  },
  {
    topic: "custom-resources",
    exchanges: ["without a kind"],
    at: "status",
    because: "the path says the kind, so that the body need not",
  },
  {
    topic: "custom-resources",
    exchanges: ["of another version"],
    at: "headers.warning",
    because: "a body of another version is not looked into",
  },
  {
    topic: "custom-resources",
    exchanges: ["with a bad label", "with a label that is no string"],
    at: "body.message",
    because: "ours say which value it is",
  },
  {
    topic: "custom-resources",
    exchanges: ["to a name"],
    at: "status",
    because: "one creates in a collection, not in an object",
  },
  {
    topic: "custom-resources",
    exchanges: ["in protobuf only"],
    at: "",
    because: "protobuf is read, not written",
  },
  {
    topic: "custom-versions",
    exchanges: ["define", "define wheels"],
    at: "body.status.conditions",
    because: "an empty list is a list",
  },
  {
    topic: "custom-versions",
    exchanges: ["with a plain finalizer"],
    at: "headers.warning",
    because: "not every update of an object shall warn of a finalizer that it has had for long",
  },
  {
    topic: "discovery",
    exchanges: ["to discovery", "discovery"],
    at: "status",
    because: "there is nothing to create or delete there",
  },
  {
    topic: "discovery",
    exchanges: ["a cluster's resource in a namespace"],
    at: "",
    because: "a longer way to spell a namespace, which leads nowhere else",
  },
  {
    topic: "roles",
    exchanges: ["cluster role: a bad selector"],
    at: "body",
    because: "the same is not told a second time",
  },
  { topic: "roles", exchanges: ["another role for a binding"], at: "body", because: goTypes },
  {
    topic: "reviews",
    exchanges: [
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
    because: unstored,
  },
  {
    topic: "reviews",
    exchanges: ["subject: masters", "self: the administrator"],
    at: "body",
    because: `${unstored}; and we say why masters may`,
  },
  {
    topic: "reviews",
    exchanges: ["subject: about both", "subject: with a name", "local: about a path"],
    at: "body",
    because: goTypes,
  },
  {
    topic: "tokens",
    exchanges: [
      "a token",
      "for an hour, for somebody",
      "for the server",
      "with a name of its own",
      "bound to a secret",
    ],
    at: "body.metadata.managedFields",
    because: unstored,
  },
  { topic: "tokens", exchanges: ["of another kind"], at: "body.message", because: goTypes },
  {
    topic: "tokens",
    exchanges: ["looked at", "looked at by others", "looked at for one of two"],
    at: "body.metadata.managedFields",
    because: unstored,
  },
  {
    topic: "tokens",
    exchanges: ["looked at", "looked at for one of two"],
    at: "body.status.user.extra",
    because: "accounts are told with their logical cluster",
  },
  {
    topic: "traffic",
    exchanges: ["request: without anything"],
    at: "body",
    because: goTypes,
  },
  {
    topic: "webhooks",
    exchanges: [
      "validating: other-version",
      "validating: unknown-version",
      "validating: other-kind",
      "mutating: patch-kind",
    ],
    at: "body",
    because: goTypes,
  },
  {
    topic: "webhooks",
    exchanges: ["validating: away"],
    at: "body",
    because: "a redirect is not followed: it would lead where nobody has agreed to go",
  },
  {
    topic: "webhooks",
    exchanges: ["mutating: patch-text"],
    at: "body",
    because: "parsers word differently what is wrong with a text",
  },
  {
    topic: "webhooks",
    exchanges: [
      "told before: a create",
      "told before: of a generated name",
      "told before: an update",
      "told before: a patch",
    ],
    at: "body.message",
    because: "mutating webhooks see what was sent, before it has owners and a patch has a version",
  },
  {
    topic: "validating-policies",
    exchanges: ["denied: of all"],
    at: "body",
    because: "ours say which of them could not be deleted",
  },
  {
    topic: "mutating-policies",
    exchanges: ["refused: a patch of unknown members"],
    at: "body",
    because: "ours say that there is no such member",
  },
];
