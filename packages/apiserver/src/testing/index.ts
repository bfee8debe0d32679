/**
 * The test utilities of this package, and of packages that extend it. Production code does not
 * import it.
 */
export { servedVerbs } from "../handlers/index.ts";
export { condition, conditionOf, definitionsPath, established, install } from "./definitions.ts";
export { FakeClock } from "./fake-clock.ts";
export { FaultyStorage } from "./faulty-storage.ts";
export { ListeningServer, readToEnd } from "./listening-server.ts";
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
  type AnyObject,
  authorizationOf,
  ownCluster,
  type RequestOptions,
  TestResponse,
  TestServer,
  type TestServerOptions,
  type TestUser,
  withSlowAuthorization,
} from "./test-server.ts";
export { flushPendingWork, until } from "./until.ts";
export { summarizeEvent, type WatchEvent, WatchReader } from "./watch-reader.ts";
export {
  type ReviewRequest,
  register,
  registration,
  rulesFor,
  WebhookServer,
} from "./webhook-server.ts";
