/** A Kubernetes API server in a program of 40 lines: TLS, a token, RBAC, custom resources. */
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import {
  ApiServer,
  BearerTokenAuthenticator,
  hashToken,
  issueServingMaterial,
  Listener,
  MemoryStorage,
  RequestAuthenticator,
  StaticTokenAuthenticator,
  systemClock,
  systemRandom,
} from "kcp-ts/apiserver";

const token = randomUUID();
const user = { username: "admin", groups: ["system:masters"] };
const tokens = new StaticTokenAuthenticator([{ tokenHash: hashToken(token), user }]);
const authenticators = [new BearerTokenAuthenticator([tokens])];
const quiet = { debug() {}, info() {}, isDebugEnabled: false };
const server = new ApiServer({
  storage: new MemoryStorage(),
  authenticator: new RequestAuthenticator({ authenticators, anonymous: true }),
  clock: systemClock,
  random: systemRandom,
  log: { ...quiet, warn: console.error, error: console.error },
});
await server.start();

const { caPem, ...tls } = issueServingMaterial("my-apiserver", "127.0.0.1");
const handle = server.handle.bind(server);
const listener = new Listener({ host: "127.0.0.1", port: 0, tls, handle, onDebug() {} });
const url = `https://127.0.0.1:${(await listener.listen()).port}`;
const cluster = { server: url, "certificate-authority-data": btoa(caPem) };
const context = { cluster: "c", user: "u" };
const entries = { clusters: [{ name: "c", cluster }], users: [{ name: "u", user: { token } }] };
const kubeconfig = { ...entries, contexts: [{ name: "x", context }], "current-context": "x" };
writeFileSync(process.argv[2] ?? "apiserver.kubeconfig", JSON.stringify(kubeconfig));
console.log(url);
