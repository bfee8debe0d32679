/** For the tests of this package only. Programs are tested against the real server, in process. */
export { FakeApiServer } from "./fake-api-server.ts";
export { rawRelay } from "./raw-relay.ts";
export {
  type Certificates,
  type Handler,
  makeCertificates,
  startHttp1Server,
  startHttp2Server,
  type TestServer,
} from "./tls-servers.ts";
