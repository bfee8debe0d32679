/** For the tests of this package only. Programs are tested against the real server, in process. */
export { FakeApiServer, type FakeApiServerOptions, type FakeKey } from "./fake-api-server.ts";
export type { StoredObject } from "./fake-store.ts";
export { rawRelay } from "./raw-relay.ts";
export {
  type Certificates,
  type Handler,
  makeCertificates,
  startHttp1Server,
  startHttp2Server,
  type TestServer,
} from "./tls-servers.ts";
