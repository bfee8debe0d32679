/**
 * The cost of decisions: `node --expose-gc packages/apiserver/dist/authorization/rbac/rbac.bench.js
 * [bindings]`.
 *
 * The authorizer of a real server decides, over objects that were written through it, on the memory
 * store; the memory is the heap after a garbage collection of a new server on the stored objects of
 * another one.
 */
import { performance } from "node:perf_hooks";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { Attributes, UserInfo } from "../../request/index.ts";
import { RoleWriter, TestServer } from "../../testing/index.ts";
import { type Authorizer, bootstrapAuthorizer, unionAuthorizer } from "../index.ts";

const collect = (globalThis as { gc?: () => void }).gc;

async function heapBytes(): Promise<number> {
  for (let i = 0; i < 4; i++) {
    collect?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  return process.memoryUsage().heapUsed;
}

function print(what: string, value: string): void {
  process.stdout.write(`${what.padEnd(78)} ${value}\n`);
}

function question(cluster: string, user: UserInfo, rest: Partial<Attributes> = {}): Attributes {
  return {
    user,
    cluster: cluster as ClusterName,
    verb: "get",
    group: "",
    version: "v1",
    resource: "configmaps",
    subresource: "",
    namespace: "default",
    name: "x",
    path: "",
    isResourceRequest: true,
    ...rest,
  };
}

/** The median and the 99th percentile of single decisions, in microseconds. */
async function time(
  what: string,
  authorizer: Authorizer,
  ask: (i: number) => Attributes,
  expected: boolean,
): Promise<void> {
  const rounds = 20_000;
  await authorizer.authorize(ask(0));
  for (let i = 0; i < rounds; i++) await authorizer.authorize(ask(i));
  const times = new Float64Array(rounds);
  for (let i = 0; i < rounds; i++) {
    const asked = ask(i);
    const start = performance.now();
    const decision = authorizer.authorize(asked);
    times[i] = performance.now() - start;
    if (decision instanceof Promise || decision.allowed !== expected) throw new Error(what);
  }
  times.sort();
  const at = (share: number) => ((times[Math.floor(rounds * share)] as number) * 1000).toFixed(1);
  print(what, `median ${at(0.5)} us, p99 ${at(0.99)} us`);
}

/** Writes past authentication and authorization where these are not measured. */
async function fill(server: TestServer, count: number): Promise<void> {
  const admin = new RoleWriter(server, "big");
  const rule = { verbs: ["get"], apiGroups: [""], resources: ["configmaps"] };
  await admin.clusterRole("reader", [rule]);
  const start = performance.now();
  for (let i = 0; i < count; i += 100) {
    await Promise.all(
      Array.from({ length: Math.min(100, count - i) }, (_, at) =>
        admin.clusterBinding(`b${i + at}`, "reader", `user-${i + at}`, "everybody"),
      ),
    );
  }
  const elapsed = performance.now() - start;
  print(`${count} bindings written`, `${Math.round((count / elapsed) * 1000)}/s`);
  const rules = Array.from({ length: 300 }, (_, i) => ({ ...rule, resources: [`kind${i}`] }));
  for (let i = 0; i < 100; i++) {
    await admin.clusterRole(`many-${i}`, rules);
    await admin.clusterBinding(`many-${i}`, `many-${i}`, "collector");
  }
}

async function decisions(count: number): Promise<void> {
  const server = await TestServer.start();
  await fill(server, count);
  const { authorizer } = server.server;
  const user = (username: string): UserInfo => ({ username, groups: ["system:authenticated"] });
  const kcpAdmin = { username: "kcp-admin", groups: ["system:kcp:admin", "system:authenticated"] };
  const stranger = user("stranger");
  const users = Array.from({ length: count }, (_, i) => user(`user-${i}`));
  await time("system:masters", authorizer, () => question("big", master), true);
  await time(
    "system:kcp:admin, by the shared policy",
    authorizer,
    () => question("big", kcpAdmin),
    true,
  );
  const discovery = { isResourceRequest: false, path: "/apis/apps", namespace: "" };
  await time("discovery", authorizer, () => question("big", stranger, discovery), true);
  await time(
    "a user with one of the bindings",
    authorizer,
    (i) => question("big", users[i % count] as UserInfo),
    true,
  );
  await time(
    "the same, refused",
    authorizer,
    (i) => question("big", users[i % count] as UserInfo, { verb: "delete" }),
    false,
  );
  await time("a user with no binding, refused", authorizer, () => question("big", stranger), false);
  await time(
    "a user of all the bindings, refused",
    authorizer,
    () => question("big", user("everybody"), { verb: "delete" }),
    false,
  );
  await time(
    "a user of 100 roles with 300 rules each, refused",
    authorizer,
    () => question("big", user("collector"), { verb: "delete" }),
    false,
  );
  await server.server.close();
  const before = await heapBytes();
  const second = await TestServer.start({ storage: server.storage });
  const start = performance.now();
  await second.server.authorizer.authorize(question("big", stranger));
  print(
    "the first decision, which loads the cluster",
    `${(performance.now() - start).toFixed(0)} ms`,
  );
  const bytes = (await heapBytes()) - before;
  print(
    "memory of a binding of two subjects (100 large roles included)",
    `${Math.round(bytes / count)} bytes`,
  );
  await second.close();
}

const master: UserInfo = { username: "m", groups: ["system:masters"] };

async function manyClusters(count: number): Promise<void> {
  const server = await TestServer.start();
  const stranger: UserInfo = { username: "stranger", groups: ["system:authenticated"] };
  const before = await heapBytes();
  const start = performance.now();
  for (let i = 0; i < count; i++)
    await server.server.authorizer.authorize(question(`c${i}`, stranger));
  const each = ((performance.now() - start) / count) * 1000;
  const bytes = (await heapBytes()) - before;
  print("a cluster without roles: its first decision", `${each.toFixed(0)} us`);
  print("a cluster without roles: memory", `${Math.round(bytes / count)} bytes`);
  await server.close();
}

/**
 * The cost of RBAC for a request: gets of one object, by a user whom an earlier authorizer permits
 * and by a user whom RBAC permits.
 */
async function requests(): Promise<void> {
  const server = await TestServer.start({
    authorization: (rbac) => unionAuthorizer([bootstrapAuthorizer, rbac]),
  });
  const path = "/clusters/t/api/v1/namespaces/default/configmaps";
  await server.requestOk("POST", path, { body: { metadata: { name: "x" } } });
  await new RoleWriter(server, "t").clusterBinding("b", "view", "nobody");
  for (const round of ["warm-up", ""])
    for (const user of ["masters", "admin", "nobody"] as const) {
      const count = 20_000;
      const start = performance.now();
      for (let i = 0; i < count; i++) await server.get(`${path}/x`, { user });
      const us = ((performance.now() - start) / count) * 1000;
      if (round === "") print(`a get by ${user}, in process`, `${us.toFixed(1)} us`);
    }
  await server.close();
}

const count = Number(process.argv[2] ?? 10_000);
await decisions(count);
await manyClusters(Math.min(count, 2000));
await requests();
