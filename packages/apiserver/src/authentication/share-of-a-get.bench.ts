/**
 * The part of a get that authentication and authorization take, in CPU time of this process:
 *
 *     node packages/apiserver/dist/authentication/share-of-a-get.bench.js
 *
 * The get reads a cached object, in process: without sockets, so the part over the wire is smaller
 * still. The benchmark measures CPU time, and alternates between the parts and the complete get,
 * because other programs on the machine distort elapsed time.
 */
import { bootstrapAuthorizer, unionAuthorizer } from "../authorization/index.ts";
import type { ApiRequest } from "../request/api-request.ts";
import type { Attributes } from "../request/index.ts";
import { RoleWriter, startWithServiceAccounts } from "../testing/index.ts";

const rounds = 10_000;
const turns = 12;

function cpuMicros(body: () => unknown): number {
  const before = process.cpuUsage();
  for (let at = 0; at < rounds; at++) body();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / rounds;
}

const median = (values: readonly number[]) =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

const server = await startWithServiceAccounts({
  authorization: (rbac) => unionAuthorizer([bootstrapAuthorizer, rbac]),
});
const base = "/clusters/t/api/v1/namespaces/default";
await server.requestOk("POST", `${base}/configmaps`, { body: { metadata: { name: "c" } } });
await server.requestOk("POST", `${base}/serviceaccounts`, {
  body: { metadata: { name: "robot" } },
});
const issued = await server.requestOk("POST", `${base}/serviceaccounts/robot/token`, { body: {} });
const { token } = issued["status"] as unknown as { readonly token: string };
const robot = "system:serviceaccount:default:robot";
const roles = new RoleWriter(server, "t");
for (let at = 0; at < 100; at++) await roles.clusterBinding(`b${at}`, "view", `user-${at}`);
await roles.clusterBinding("robot", "view", robot);

const { authenticator } = server;
const { authorizer } = server.server;
for (const [title, authorization] of [
  ["a service account's token", `Bearer ${token}`],
  ["a static token", "Bearer token-of-admin"],
] as const) {
  const request: ApiRequest = {
    method: "GET",
    target: `${base}/configmaps/c`,
    headers: { accept: "application/json", "user-agent": "bench", authorization },
    remoteAddress: "",
    clientCertificate: undefined,
    onClose: () => {},
    readBody: async () => new Uint8Array(),
  };
  const user = await authenticator.authenticate({ authorization });
  const attributes = {
    user,
    cluster: "t",
    verb: "get",
    group: "",
    version: "v1",
    resource: "configmaps",
    subresource: "",
    namespace: "default",
    name: "c",
    path: "",
    isResourceRequest: true,
  } as unknown as Attributes;
  const { status } = await server.server.handle(request);
  if (status !== 200) throw new Error(`${title}: ${status}`);
  const [gets, whos, mays]: [number[], number[], number[]] = [[], [], []];
  for (let turn = 0; turn < turns; turn++) {
    gets.push(cpuMicros(() => server.server.handle(request)));
    whos.push(cpuMicros(() => authenticator.authenticate({ authorization })));
    mays.push(cpuMicros(() => authorizer.authorize(attributes)));
  }
  const [get, who, may] = [median(gets), median(whos), median(mays)];
  const share = (((who + may) / get) * 100).toFixed(1);
  process.stdout.write(
    `${title}: a get ${get.toFixed(1)} us, authentication ${who.toFixed(2)} us, authorization ${may.toFixed(2)} us: ${share} %\n`,
  );
}
await server.close();
