/** What the tests of this package, and of those that extend it, are made of. No code of the server imports it. */
export { servedVerbs } from "../handlers/index.ts";
export {
  type Condition,
  condition,
  conditionOf,
  definitionsPath,
  established,
  install,
} from "./definitions.ts";
export { FakeClock } from "./fake-clock.ts";
export { FaultyStorage } from "./faulty-storage.ts";
export {
  ListeningServer,
  readToEnd,
  type WireAnswer,
  type WireRequest,
} from "./listening-server.ts";
export { openWatches, untilWatches } from "./open-watches.ts";
export { encodeProto, envelope, mapEntry, type Proto, varint } from "./protobuf-writer.ts";
export { bindingOf, RoleWriter, type RuleObject, rbacPath } from "./role-writer.ts";
export {
  collectionPath,
  type SampleKind,
  sampleKind,
  sampleKinds,
  sampleObject,
  sampleRequest,
} from "./sample-objects.ts";
export { SeededRandom } from "./seeded-random.ts";
export { startWithServiceAccounts, testIssuer } from "./service-accounts.ts";
export { supervisorFor } from "./supervisor-for.ts";
export {
  Answer,
  type AnyMetadata,
  type AnyObject,
  authorizationOf,
  type LogLine,
  ownCluster,
  type PatchType,
  type RequestOptions,
  slowly,
  TestServer,
  type TestServerOptions,
  type TestUser,
  testAuthenticator,
  testTokens,
} from "./test-server.ts";
export { settle, until } from "./until.ts";
export { brief, type WatchEvent, WatchReader } from "./watch-reader.ts";
export {
  type Answerer,
  type ReviewAnswer,
  type ReviewRequest,
  register,
  registration,
  rulesFor,
  WebhookServer,
} from "./webhook-server.ts";
