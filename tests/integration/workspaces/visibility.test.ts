/**
 * Goal: what a tenant, a provider and an administrator can and cannot see, as a table: every verb,
 * every kind of thing, every way to it.
 *
 *     tenant: owns root:org:one, has bound paula's cowboys and agreed to its claim on labels
 *     other:  owns root:org:two, has bound the same and agreed to nothing
 *     paula:  offers cowboys in root:org:provider, and has types whose controllers are hers
 *     rival:  offers cowboys too, in root:org:rival, and nobody has bound to it
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { UserInfo } from "@kcp-ts/apiserver";
import type { TransportRequest } from "@kcp-ts/sdk/client";
import { startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing/internal";
import { eventually as eventuallySoon } from "@kcp-ts/testkit";

/** On a machine that has much else to do. */
const eventually = <Value>(check: () => Promise<Value>): Promise<Value> =>
  eventuallySoon(check, { timeoutMs: 60_000 });

const authenticated = "system:authenticated";
const actors = {
  tenant: { username: "tenant", groups: [authenticated] },
  other: { username: "other", groups: [authenticated] },
  paula: { username: "paula", groups: [authenticated] },
  rival: { username: "rival", groups: [authenticated] },
  stranger: { username: "stranger", groups: [authenticated] },
  nobody: { username: "system:anonymous", groups: ["system:unauthenticated"] },
  admin: { username: "kcp-admin", groups: ["system:kcp:admin", authenticated] },
  master: { username: "master", groups: ["system:masters", authenticated] },
} satisfies Record<string, UserInfo>;
type Actor = keyof typeof actors;

const kinds = {
  configmaps: "api/v1/namespaces/default/configmaps",
  secrets: "api/v1/namespaces/default/secrets",
  cowboys: "apis/wildwest.dev/v1/namespaces/default/cowboys",
  bindings: "apis/apis.kcp.io/v1alpha2/apibindings",
  exports: "apis/apis.kcp.io/v1alpha2/apiexports",
  schemas: "apis/apis.kcp.io/v1alpha1/apiresourceschemas",
  logicalclusters: "apis/core.kcp.io/v1alpha1/logicalclusters",
  workspaces: "apis/tenancy.kcp.io/v1alpha1/workspaces",
  types: "apis/tenancy.kcp.io/v1alpha1/workspacetypes",
} as const;

interface Row {
  /** `{one}` and the like are names of logical clusters. */
  readonly at: string;
  readonly kind: keyof typeof kinds;
  /**
   * Everything of the kind that is seen there, as `<name> in <cluster>`; the first is got, watched
   * and written.
   */
  readonly sees: readonly string[];
  readonly read: readonly Actor[];
  readonly write: readonly Actor[];
  /** What everybody else is told: the same for every verb. */
  readonly others?: readonly number[];
  /** What readers are told who write. */
  readonly refused?: readonly number[];
}

const [rulers, everyone]: [Actor[], Actor[]] = [
  ["admin", "master"],
  Object.keys(actors) as Actor[],
];
const exportView = "/services/apiexport/{provider}/cowboys/clusters";
const rivalView = "/services/apiexport/{rival}/cowboys/clusters";
const initializing = "/services/initializingworkspaces/{provider}:slow/clusters";
const terminating = "/services/terminatingworkspaces/{provider}:slow/clusters";
const unattended = { sees: [], read: [], write: [], others: [403, 500] };
const schemaView = "/services/apiresourceschema/{one}/clusters";

const table: readonly Row[] = [
  // What is one's own, by path and by name; nobody else's, its provider's included.
  ...["/clusters/root:org:one", "/clusters/{one}"].flatMap((at): Row[] => [
    {
      at,
      kind: "configmaps",
      sees: ["shown in one", "hidden in one"],
      read: ["tenant", ...rulers],
      write: ["tenant", ...rulers],
    },
    {
      at,
      kind: "secrets",
      sees: ["password in one"],
      read: ["tenant", ...rulers],
      write: ["tenant", ...rulers],
    },
    {
      at,
      kind: "cowboys",
      sees: ["john in one"],
      read: ["tenant", ...rulers],
      write: ["tenant", ...rulers],
    },
    {
      at,
      kind: "bindings",
      sees: ["cowboys in one"],
      read: ["tenant", ...rulers],
      write: ["tenant", ...rulers],
    },
    {
      at,
      kind: "logicalclusters",
      sees: ["cluster in one"],
      read: ["tenant", ...rulers],
      write: ["tenant", ...rulers],
    },
  ]),
  {
    at: "/clusters/root:org:two",
    kind: "cowboys",
    sees: ["jane in two"],
    read: ["other", ...rulers],
    write: ["other", ...rulers],
  },
  {
    at: "/clusters/{two}",
    kind: "configmaps",
    sees: ["shown in two"],
    read: ["other", ...rulers],
    write: ["other", ...rulers],
  },
  // What a provider has is the provider's, also where others have bound to it.
  {
    at: "/clusters/{provider}",
    kind: "exports",
    sees: ["cowboys in provider"],
    read: ["paula", ...rulers],
    write: ["paula", ...rulers],
  },
  {
    at: "/clusters/{provider}",
    kind: "types",
    sees: ["slow in provider"],
    read: ["paula", ...rulers],
    write: ["paula", ...rulers],
  },
  // All logical clusters at once: for those alone who run them; what is bound needs its identity
  // there.
  {
    at: "/clusters/*",
    kind: "bindings",
    sees: ["cowboys in one", "cowboys in two"],
    read: ["master"],
    write: [],
    refused: [405],
  },
  { at: "/clusters/*", kind: "cowboys", sees: [], read: [], write: [], others: [403, 404, 405] },
  // A provider through its export: all consumers, what is bound and what was agreed to, and nothing
  // else of theirs.
  {
    at: `${exportView}/*`,
    kind: "cowboys",
    sees: ["john in one", "jane in two"],
    read: ["paula", ...rulers],
    write: [],
    refused: [405],
  },
  {
    at: `${exportView}/*`,
    kind: "configmaps",
    sees: ["shown in one"],
    read: ["paula", ...rulers],
    write: [],
    refused: [405],
  },
  {
    at: `${exportView}/*`,
    kind: "bindings",
    sees: ["cowboys in one", "cowboys in two"],
    read: ["paula", ...rulers],
    write: [],
    refused: [405],
  },
  { at: `${exportView}/*`, kind: "secrets", sees: [], read: [], write: [], others: [403, 404] },
  {
    at: `${exportView}/{one}`,
    kind: "cowboys",
    sees: ["john in one"],
    read: ["paula", ...rulers],
    write: ["paula", ...rulers],
  },
  {
    at: `${exportView}/{one}`,
    kind: "configmaps",
    sees: ["shown in one"],
    read: ["paula", ...rulers],
    write: ["paula", ...rulers],
  },
  {
    at: `${exportView}/{one}`,
    kind: "bindings",
    sees: ["cowboys in one"],
    read: ["paula", ...rulers],
    write: [],
    refused: [403],
  },
  { at: `${exportView}/{one}`, kind: "secrets", sees: [], read: [], write: [] },
  {
    at: `${exportView}/{two}`,
    kind: "cowboys",
    sees: ["jane in two"],
    read: ["paula", ...rulers],
    write: ["paula", ...rulers],
  },
  { at: `${exportView}/{two}`, kind: "configmaps", sees: [], read: [], write: [] },
  { at: `${exportView}/{provider}`, kind: "configmaps", sees: [], read: [], write: [] },
  { at: `${exportView}/{rival}`, kind: "cowboys", sees: [], read: [], write: [] },
  // Somebody else's export of the same names has its own consumers, which are none.
  {
    at: `${rivalView}/*`,
    kind: "cowboys",
    sees: [],
    read: ["rival", ...rulers],
    write: [],
    refused: [405],
  },
  { at: `${rivalView}/{one}`, kind: "cowboys", sees: [], read: [], write: [] },
  // The schemas behind what a consumer has bound, for who may see its bindings.
  {
    at: `${schemaView}/*`,
    kind: "schemas",
    sees: ["v1.cowboys.wildwest.dev in provider"],
    read: ["tenant", ...rulers],
    write: [],
  },
  // Workspaces that wait for a controller, for whom the type lets run it; as long as they wait.
  {
    at: `${initializing}/*`,
    kind: "logicalclusters",
    sees: ["cluster in coming", "cluster in ruled"],
    read: ["paula", ...rulers],
    write: [],
    refused: [405],
  },
  {
    at: `${initializing}/{coming}`,
    kind: "configmaps",
    sees: ["plan in coming"],
    read: ["paula", ...rulers],
    write: ["paula", ...rulers],
  },
  { at: `${initializing}/{one}`, kind: "configmaps", sees: [], read: [], write: [] },
  // In one that a member of system:masters made there is nobody to act as.
  { at: `${initializing}/{ruled}`, kind: "configmaps", ...unattended },
  { at: `${initializing}/{ruled}`, kind: "workspaces", ...unattended },
  { at: `${terminating}/{deposed}`, kind: "configmaps", ...unattended },
  { at: `${initializing}/{leaving}`, kind: "configmaps", sees: [], read: [], write: [] },
  { at: `${initializing}/{provider}`, kind: "secrets", sees: [], read: [], write: [] },
  {
    at: `${terminating}/*`,
    kind: "logicalclusters",
    sees: ["cluster in leaving", "cluster in deposed"],
    read: ["paula", ...rulers],
    write: [],
    refused: [405],
  },
  {
    at: `${terminating}/{leaving}`,
    kind: "configmaps",
    sees: ["plan in leaving"],
    read: ["paula", ...rulers],
    write: ["paula", ...rulers],
  },
  { at: `${terminating}/{one}`, kind: "configmaps", sees: [], read: [], write: [] },
  { at: `${terminating}/{coming}`, kind: "configmaps", sees: [], read: [], write: [] },
];

interface Listed {
  readonly metadata: { readonly remainingItemCount?: number };
  readonly items: readonly { readonly metadata: Metadata }[];
}
interface Metadata {
  readonly name: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

describe("what can be seen and done", () => {
  let plane: TestControlPlane;
  /** Logical clusters by what the table calls them, and the other way round. */
  const names = new Map<string, string>();
  const called = new Map<string, string>();

  const send = async (actor: Actor, method: string, path: string, body?: object, type?: string) => {
    const { transport } = plane.clientFor("root", actors[actor]);
    const response = await transport.send({
      method: method as TransportRequest["method"],
      path,
      headers: body === undefined ? {} : { "content-type": type ?? "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, text: await response.body.text() };
  };
  const must = async (actor: Actor, path: string, body: object) => {
    const { status, text } = await send(actor, "POST", path, body);
    assert.ok(status < 300, `${path}: ${status} ${text}`);
    return JSON.parse(text) as { spec: { cluster: string } };
  };
  const resolve = (path: string) =>
    path.replace(/\{(\w+)\}/g, (_, name: string) => names.get(name) ?? assert.fail(name));
  const make = async (actor: Actor, parent: string, name: string, type: object = {}) => {
    const path = resolve(`/clusters/${parent}/${kinds.workspaces}`);
    const { spec } = await must(actor, path, { metadata: { name }, spec: type });
    names.set(name, spec.cluster);
    called.set(spec.cluster, name);
  };
  const own = (actor: Actor, cluster: string, role = "cluster-admin") => {
    const apiGroup = "rbac.authorization.k8s.io";
    return must("master", resolve(`/clusters/${cluster}/apis/${apiGroup}/v1/clusterrolebindings`), {
      metadata: { name: `${actor}-${role}`.replaceAll(":", "-") },
      roleRef: { apiGroup, kind: "ClusterRole", name: role },
      subjects: [{ apiGroup, kind: "User", name: actors[actor].username }],
    });
  };

  before(async () => {
    plane = await startTestControlPlane();
    await make("master", "root", "org");
    const universal = { type: { name: "universal", path: "root" } };
    for (const actor of ["tenant", "other", "paula", "rival"] as const)
      await own(actor, "root:org");
    await make("paula", "root:org", "provider", universal);
    await make("rival", "root:org", "rival", universal);
    await make("tenant", "root:org", "one", universal);
    await make("other", "root:org", "two", universal);
    await offer("paula", "{provider}");
    await offer("rival", "{rival}");
    await bound("tenant", "{one}", [
      { ...claim, selector: { matchLabels: { show: "yes" } }, state: "Accepted" },
    ]);
    await bound("other", "{two}", []);
    await must("paula", resolve(`/clusters/{provider}/${kinds.types}`), {
      metadata: { name: "slow" },
      spec: {
        initializer: true,
        terminator: true,
        extend: { with: [{ name: "universal", path: "root" }] },
      },
    });
    const slow = { type: { name: "slow", path: "root:org:provider" } };
    await make("tenant", "{one}", "coming", slow);
    await make("tenant", "{one}", "leaving", slow);
    for (const name of ["ruled", "deposed"]) await make("master", "{one}", name, slow);
    await filled();
    for (const name of ["leaving", "deposed"]) await ended(name);
    // What was agreed to is in effect when the provider sees it.
    await eventually(async () => {
      const path = resolve(`${exportView}/*/api/v1/configmaps`);
      assert.match((await send("paula", "GET", path)).text, /"name":"shown"/);
    });
  });
  after(() => plane.close());

  const claim = { group: "", resource: "configmaps", verbs: ["*"] };

  async function offer(actor: Actor, cluster: string): Promise<void> {
    const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
    await must(actor, resolve(`/clusters/${cluster}/${kinds.schemas}`), {
      metadata: { name: "v1.cowboys.wildwest.dev" },
      spec: {
        group: "wildwest.dev",
        names: { plural: "cowboys", singular: "cowboy", kind: "Cowboy", listKind: "CowboyList" },
        scope: "Namespaced",
        versions: [{ name: "v1", served: true, storage: true, schema: open }],
      },
    });
    await must(actor, resolve(`/clusters/${cluster}/${kinds.exports}`), {
      metadata: { name: "cowboys" },
      spec: {
        resources: [{ name: "cowboys", group: "wildwest.dev", schema: "v1.cowboys.wildwest.dev" }],
        permissionClaims: [claim],
      },
    });
    const base = `/clusters/${cluster}/apis/rbac.authorization.k8s.io/v1`;
    const apiGroup = "rbac.authorization.k8s.io";
    await must(actor, resolve(`${base}/clusterroles`), {
      metadata: { name: "open" },
      rules: [
        { apiGroups: ["apis.kcp.io"], resources: ["apiexports"], verbs: ["bind"] },
        { apiGroups: ["tenancy.kcp.io"], resources: ["workspacetypes"], verbs: ["use"] },
      ],
    });
    await must(actor, resolve(`${base}/clusterrolebindings`), {
      metadata: { name: "open" },
      roleRef: { apiGroup, kind: "ClusterRole", name: "open" },
      subjects: [{ apiGroup, kind: "Group", name: authenticated }],
    });
  }

  async function bound(actor: Actor, cluster: string, permissionClaims: object[]): Promise<void> {
    const path = resolve(`/clusters/${cluster}/${kinds.bindings}`);
    await eventually(async () => {
      const body = {
        metadata: { name: "cowboys" },
        spec: {
          reference: { export: { path: "root:org:provider", name: "cowboys" } },
          permissionClaims,
        },
      };
      const { status, text } = await send(actor, "POST", path, body);
      assert.ok(status === 201 || status === 409, text);
      const { text: found } = await send(actor, "GET", `${path}/cowboys`);
      assert.match(found, /"phase":"Bound"/);
    });
  }

  async function filled(): Promise<void> {
    const put = (actor: Actor, cluster: string, kind: keyof typeof kinds, metadata: object) =>
      eventually(async () => {
        const { status, text } = await send(
          actor,
          "POST",
          resolve(`/clusters/${cluster}/${kinds[kind]}`),
          { metadata, ...(kind === "cowboys" ? cowboyKind : {}) },
        );
        assert.ok(status === 201 || status === 409, text);
      });
    const cowboyKind = { apiVersion: "wildwest.dev/v1", kind: "Cowboy" };
    const labels = { show: "yes" };
    await put("tenant", "{one}", "configmaps", { name: "shown", labels });
    await put("tenant", "{one}", "configmaps", { name: "hidden" });
    await put("tenant", "{one}", "secrets", { name: "password" });
    await put("tenant", "{one}", "cowboys", { name: "john" });
    await put("other", "{two}", "configmaps", { name: "shown", labels });
    await put("other", "{two}", "cowboys", { name: "jane" });
    await put("paula", "{provider}", "configmaps", { name: "prices" });
    for (const cluster of ["{coming}", "{leaving}"])
      await put("master", cluster, "configmaps", { name: "plan" });
  }

  /** It is initialized, and deleted. */
  async function ended(name: string): Promise<void> {
    const at = resolve(`${initializing}/{${name}}/${kinds.logicalclusters}/cluster/status`);
    const patch = { status: { initializers: null } };
    const { status, text } = await send(
      "paula",
      "PATCH",
      at,
      patch,
      "application/merge-patch+json",
    );
    assert.equal(status, 200, text);
    await eventually(async () => {
      const { text: found } = await send(
        "tenant",
        "GET",
        resolve(`/clusters/{one}/${kinds.workspaces}/${name}`),
      );
      assert.match(found, /"phase":"Ready"/);
    });
    await send("tenant", "DELETE", resolve(`/clusters/{one}/${kinds.workspaces}/${name}`));
    await eventually(async () => {
      const path = resolve(`/clusters/{${name}}/${kinds.logicalclusters}/cluster`);
      assert.match((await send("master", "GET", path)).text, /"phase":"Terminating"/);
    });
  }

  /** What comes with every namespace and cluster is nobody's secret, and left out. */
  const isOurs = ({ name }: Metadata) =>
    name !== "kube-root-ca.crt" &&
    !["tenancy.kcp.io", "topology.kcp.io", "shards.core.kcp.io", "cache.kcp.io"].includes(name);
  const shown = ({ name, annotations }: Metadata) =>
    `${name} in ${called.get(annotations?.["kcp.io/cluster"] ?? "") ?? "?"}`;

  const pathOf = ({ at, kind }: Row, { isEverywhere }: { isEverywhere: boolean }) =>
    resolve(`${at}/${isEverywhere ? kinds[kind].replace("namespaces/default/", "") : kinds[kind]}`);

  for (const row of table) {
    it(`${row.kind} at ${row.at}: ${row.read.join(", ") || "no user"} read`, async () => {
      for (const actor of everyone) await check(row, actor);
    });
  }

  async function check(row: Row, actor: Actor): Promise<void> {
    const isEverywhere = row.at.endsWith("/*");
    const list = pathOf(row, { isEverywhere });
    const [first] = row.sees;
    const name = first?.split(" ")[0] ?? "any";
    const one = `${pathOf(row, { isEverywhere: false })}/${name}`;
    const others = row.others ?? [403];
    const isReader = row.read.includes(actor);
    const who = `${actor} ${list}`;

    const answer = await send(actor, "GET", list);
    const counted = await send(actor, "GET", `${list}?limit=1`);
    const watched = await seen(actor, list);
    const got = isEverywhere ? undefined : await send(actor, "GET", one);
    if (isReader) {
      const sees = [...row.sees].sort();
      const { items } = JSON.parse(answer.text) as Listed;
      const found = items.map(({ metadata }) => metadata).filter(isOurs);
      assert.deepEqual(found.map(shown).sort(), sees, `list ${who}`);
      assert.deepEqual(watched, sees, `watch ${who}`);
      const { metadata, items: page } = JSON.parse(counted.text) as Listed;
      const count = page.length + (metadata.remainingItemCount ?? items.length - page.length);
      assert.equal(count, items.length, `count ${who}`);
      if (got !== undefined && first !== undefined) assert.equal(got.status, 200, `get ${who}`);
    } else {
      for (const { status, text } of [answer, counted, ...(got === undefined ? [] : [got])])
        assert.ok(others.includes(status), `${who}: ${status} ${text}`);
      assert.equal(typeof watched, "number", `watch ${who}`);
      assert.ok(others.includes(watched as number), `watch ${who}: ${watched}`);
    }
    await checkWrite(row, actor, { one, list });
  }

  async function checkWrite(
    row: Row,
    actor: Actor,
    { one, list }: { readonly one: string; readonly list: string },
  ): Promise<void> {
    const patch = { metadata: { annotations: { touched: "by" } } };
    const type = "application/merge-patch+json";
    const { status, text } = await send(actor, "PATCH", `${one}?dryRun=All`, patch, type);
    const who = `write ${actor} ${one}: ${status} ${text}`;
    if (row.write.includes(actor)) assert.equal(status, 200, who);
    else if (row.read.includes(actor)) assert.ok((row.refused ?? [403]).includes(status), who);
    else assert.ok((row.others ?? [403]).includes(status), who);
    if (row.read.includes(actor)) return;
    // Deleting is a way to count, too.
    const deleted = await send(actor, "DELETE", `${list}?dryRun=All`);
    assert.ok(
      [403, 404, 405, ...(row.others ?? [])].includes(deleted.status),
      `delete ${who}: ${deleted.status}`,
    );
  }

  /** What a watch begins with, or the code that it is refused with. */
  async function seen(actor: Actor, list: string): Promise<readonly string[] | number> {
    const { transport } = plane.clientFor("root", actors[actor]);
    const leaving = new AbortController();
    const query =
      "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    const response = await transport.send({
      method: "GET",
      path: `${list}?${query}`,
      headers: {},
      signal: leaving.signal,
    });
    if (response.status !== 200) return response.status;
    const found: string[] = [];
    let text = "";
    try {
      for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
        text += Buffer.from(chunk).toString("utf8");
        const lines = text.split("\n");
        text = lines.pop() ?? "";
        for (const line of lines) {
          const { type, object } = JSON.parse(line) as {
            type: string;
            object: { metadata: Metadata };
          };
          if (type === "BOOKMARK") return found.sort();
          if (isOurs(object.metadata)) found.push(shown(object.metadata));
        }
      }
    } finally {
      leaving.abort();
    }
    return found.sort();
  }
});
