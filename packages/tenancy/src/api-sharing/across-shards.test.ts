/**
 * Goal: exports, schemas, types and policies of one shard are used by workspaces of others, also
 * while the shard that has them is down.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AnyObject } from "@kcp-ts/apiserver/testing";
import { type TestShards, testExternalUrl } from "../testing/index.ts";
import {
  apis,
  bind,
  binding,
  bindingTo,
  cowboy,
  cowboyExport,
  cowboySchema,
} from "./test-support/cowboys.ts";
import {
  adminBinding,
  alsoOnB,
  bindRole,
  bindRoleBinding,
  conditionIn,
  contentRole,
  contentRoleBinding,
  cowboysOfAll,
  exportOf,
  identityIn,
  inDefault,
  isEqual,
  labelShard,
  masters,
  offerOn,
  onB,
  onC,
  provider,
  rbac,
  services,
  started,
  statusOf,
  until,
  useRole,
  useRoleBinding,
} from "./test-support/shards.ts";

describe("a binding to an export of another shard", () => {
  it("is bound in the response, under the identity of the export, and serves its API", async (context) => {
    const shards = await started(context);
    await offerOn(shards, "root", provider);
    const b = shards.get("b");
    const made = await bind(b, onB, provider);
    assert.equal(statusOf(made)["phase"], "Bound");
    assert.equal(statusOf(made)["apiExportClusterName"], provider);
    const [bound] = statusOf(made)["boundResources"] as { schema: { identityHash: string } }[];
    assert.equal(bound?.schema.identityHash, identityIn(await exportOf(shards, "root", provider)));
    await b.requestOk("POST", `/clusters/${onB}${inDefault}`, { ...masters, body: cowboy("x") });
    // The other shard has no object of it.
    assert.deepEqual((await b.get(`/clusters/${onB}${inDefault}`, masters)).names, ["x"]);
  });

  it("is made again, and served, by a shard that starts while the other one is down", async (context) => {
    const shards = await started(context);
    await offerOn(shards, "root", provider);
    await bind(shards.get("b"), onB, provider);
    await shards.stop("root");
    await shards.get("b").server.close();
    const b = await shards.restart("b");
    await b.requestOk("POST", `/clusters/${onB}${inDefault}`, { ...masters, body: cowboy("x") });
    const second = await bind(b, alsoOnB, provider);
    assert.equal(statusOf(second)["phase"], "Bound");
    await b.requestOk("POST", `/clusters/${alsoOnB}${inDefault}`, {
      ...masters,
      body: cowboy("y"),
    });
  });

  it("to an export that is not known yet is refused while its shard is down, with the names of both", async (context) => {
    const shards = await started(context);
    await offerOn(shards, "root", provider);
    shards.disconnect("root");
    const b = shards.get("b");
    const body = bindingTo(provider);
    const refused = await b.request("POST", `${apis(onB)}/apibindings`, { ...masters, body });
    assert.equal(refused.status, 503, refused.text);
    assert.match(
      refused.object.message ?? "",
      /APIExport cowboys of logical cluster provider is not known on shard b yet, and shard root, which has it, does not answer: try again later/,
    );
    const asTenant = await b.request("POST", `${apis(onB)}/apibindings`, { body });
    assert.equal(asTenant.status, 503, asTenant.text);
    assert.match(asTenant.object.message ?? "", /shard root.* does not answer.*try again later/);
    shards.connect("root");
    assert.equal(statusOf(await bind(b, onB, provider))["phase"], "Bound");
  });

  it("follows changes of the export, also those that happen while the watch is cut", async (context) => {
    const shards = await started(context);
    await offerOn(shards, "root", provider);
    const [root, b] = [shards.get("root"), shards.get("b")];
    await bind(b, onB, provider);
    const serves = async (property: string) => {
      const [bound] = (statusOf(await binding(b, onB))["boundResources"] ?? []) as {
        schema: { name: string };
      }[];
      return bound?.schema.name.startsWith(property) === true;
    };
    const change = async (prefix: string) => {
      await root.requestOk("POST", `${apis(provider, "v1alpha1")}/apiresourceschemas`, {
        ...masters,
        body: cowboySchema(prefix, { [prefix]: { type: "string" } }),
      });
      const { resources } = cowboyExport(prefix).spec;
      await root.patch(
        `${apis(provider)}/apiexports/cowboys`,
        "merge",
        { spec: { resources } },
        masters,
      );
    };
    await change("tomorrow");
    await until(shards, "the binding has the new schema", () => serves("tomorrow"));
    shards.disconnect("root");
    await change("later");
    assert.equal(await serves("tomorrow"), true);
    shards.connect("root");
    await until(shards, "the binding has the schema of the time between", () => serves("later"));
  });

  it("says that the export is not there when it was deleted, and serves on", async (context) => {
    const shards = await started(context);
    await offerOn(shards, "root", provider);
    const [root, b] = [shards.get("root"), shards.get("b")];
    await bind(b, onB, provider);
    await root.requestOk("DELETE", `${apis(provider)}/apiexports/cowboys`, masters);
    await until(
      shards,
      "the binding knows it",
      async () => conditionIn(await binding(b, onB), "APIExportValid")?.status === "False",
    );
    await b.requestOk("POST", `/clusters/${onB}${inDefault}`, { ...masters, body: cowboy("x") });
    await root.requestOk("POST", `${apis(provider)}/apiexports`, {
      ...masters,
      body: cowboyExport("today"),
    });
    await until(
      shards,
      "the binding knows the new export",
      async () => conditionIn(await binding(b, onB), "APIExportValid")?.status === "True",
    );
  });

  it("needs the permission to bind on the shard of the export, and learns nothing without it", async (context) => {
    const shards = await started(context);
    await offerOn(shards, "root", provider);
    const [root, b] = [shards.get("root"), shards.get("b")];
    const user = "nobody" as const;
    const attempt = (name: string) =>
      b.request("POST", `${apis(onB)}/apibindings`, { user, body: bindingOf(name) });
    const bindingOf = (name: string) => ({
      ...bindingTo(provider, "mine"),
      spec: { reference: { export: { path: provider, name } } },
    });
    await b.requestOk(
      "POST",
      `/clusters/${onB}/apis/rbac.authorization.k8s.io/v1/clusterrolebindings`,
      { ...masters, body: adminBinding("nobody") },
    );
    const [there, missing] = [await attempt("cowboys"), await attempt("invented")];
    assert.equal(there.status, 403, there.text);
    assert.equal(missing.status, 403, missing.text);
    assert.equal(
      there.object.message?.replaceAll("cowboys", "NAME"),
      missing.object.message?.replaceAll("invented", "NAME"),
    );
    for (const body of [bindRole, bindRoleBinding("nobody")])
      await root.requestOk("POST", rbac(provider, body.kind), { ...masters, body });
    await until(
      shards,
      "the permission counts",
      async () => (await attempt("cowboys")).status === 201,
    );
  });
});

const sliceOf = async (shards: TestShards, shard = "root", cluster = provider, name = "cowboys") =>
  shards
    .get(shard)
    .requestOk("GET", `${apis(cluster, "v1alpha1")}/apiexportendpointslices/${name}`, masters);
const urlsIn = (slice: AnyObject) =>
  ((statusOf(slice)?.["endpoints"] ?? []) as { url: string }[]).map(({ url }) => url).sort();

describe("the endpoints of an export with consumers on several shards", () => {
  it("are one for each shard with consumers, that its Partition selects, and follow both", async (context) => {
    const shards = await started(context, ["root", "b", "c"]);
    for (const [name, region] of [
      ["b", "eu"],
      ["c", "us"],
    ] as const)
      await labelShard(shards, name, { region });
    await offerOn(shards, "root", provider);
    const [b, c] = [shards.get("b"), shards.get("c")];
    await bind(b, onB, provider);
    await bind(c, onC, provider);
    const url = (shard: string) =>
      `${testExternalUrl}/shards/${shard}/services/apiexport/provider/cowboys`;
    await until(shards, "both are listed", async () =>
      isEqual(urlsIn(await sliceOf(shards)), [url("b"), url("c")]),
    );
    // A slice on a third shard than the export's lists the same.
    await b.requestOk("POST", `/clusters/${onB}/apis/topology.kcp.io/v1alpha1/partitions`, {
      ...masters,
      body: { metadata: { name: "us" }, spec: { selector: { matchLabels: { region: "us" } } } },
    });
    await b.requestOk("POST", `${apis(onB, "v1alpha1")}/apiexportendpointslices`, {
      ...masters,
      body: {
        metadata: { name: "of-us" },
        spec: { export: { path: provider, name: "cowboys" }, partition: "us" },
      },
    });
    await until(shards, "the slice on b lists the shard of its Partition", async () =>
      isEqual(urlsIn(await sliceOf(shards, "b", onB, "of-us")), [url("c")]),
    );
    await labelShard(shards, "c", { region: "eu" });
    await until(shards, "the slice on b follows the labels", async () =>
      isEqual(urlsIn(await sliceOf(shards, "b", onB, "of-us")), []),
    );
    await b.requestOk("DELETE", `${apis(onB)}/apibindings/cowboys`, masters);
    await until(shards, "only c is listed", async () =>
      isEqual(urlsIn(await sliceOf(shards)), [url("c")]),
    );
  });

  it("are not lost with the annotation that a provider removes", async (context) => {
    const shards = await started(context);
    await offerOn(shards, "root", provider);
    await bind(shards.get("b"), onB, provider);
    const isListed = async () => urlsIn(await sliceOf(shards)).length === 1;
    await until(shards, "b is listed", isListed);
    const annotation = "consumers.internal.apis.kcp.io/b";
    const path = `${apis(provider)}/apiexports/cowboys`;
    await shards
      .get("root")
      .patch(path, "merge", { metadata: { annotations: { [annotation]: null } } }, masters);
    await until(
      shards,
      "it is there again",
      async () =>
        (await exportOf(shards, "root", provider)).metadata.annotations?.[annotation] === "true",
    );
    await until(shards, "b is listed again", isListed);
  });
});

describe("the virtual workspace of an export on the shard of its consumers", () => {
  const claims = [{ group: "", resource: "configmaps", verbs: ["*"] }];
  const accepted = claims.map((claim) => ({
    ...claim,
    state: "Accepted",
    selector: { matchAll: true },
  }));

  it("serves its provider's user by the rules of the provider's shard, claims included", async (context) => {
    const shards = await started(context);
    await offerOn(shards, "root", provider, { permissionClaims: claims });
    const [root, b] = [shards.get("root"), shards.get("b")];
    await bind(b, onB, provider, "cowboys", accepted);
    await b.requestOk("POST", `/clusters/${onB}${inDefault}`, { ...masters, body: cowboy("x") });
    const maps = "/api/v1/namespaces/default/configmaps";
    await b.requestOk("POST", `/clusters/${onB}${maps}`, {
      ...masters,
      body: { metadata: { name: "claimed" } },
    });
    const user = "nobody" as const;
    assert.equal((await b.get(cowboysOfAll, { user })).status, 403);
    for (const body of [contentRole, contentRoleBinding("nobody")])
      await root.requestOk("POST", rbac(provider, body.kind), { ...masters, body });
    await until(
      shards,
      "the permission counts",
      async () => (await b.get(cowboysOfAll, { user })).status === 200,
    );
    assert.deepEqual((await b.get(cowboysOfAll, { user })).names, ["x"]);
    const claimed = `${services(provider, onB)}${maps}`;
    await until(shards, "the claim is applied", async () =>
      isEqual((await b.get(claimed, { user })).names, ["claimed"]),
    );
    // The same user may do nothing outside of the view.
    assert.equal((await b.get(`/clusters/${onB}${maps}`, { user })).status, 403);
    // The shard of the provider has no such consumer.
    assert.deepEqual((await root.get(cowboysOfAll, { user })).names, []);
    shards.disconnect("root");
    assert.deepEqual((await b.get(cowboysOfAll, { user })).names, ["x"]);
  });

  it("refuses everybody to whom the shard of the provider has not said yes, while it is down", async (context) => {
    const shards = await started(context);
    await offerOn(shards, "root", provider);
    const b = shards.get("b");
    await bind(b, onB, provider);
    shards.disconnect("root");
    const answer = await b.get(cowboysOfAll, { user: "nobody" });
    assert.equal(answer.status, 503, answer.text);
    assert.match(answer.object.message ?? "", /shard root.* does not answer.*try again later/);
  });
});

describe("a maximal permission policy of another shard", () => {
  it("limits consumers by the roles there, also after a restart without that shard", async (context) => {
    const shards = await started(context);
    await offerOn(shards, "root", provider, { maximalPermissionPolicy: { local: {} } });
    const root = shards.get("root");
    let b = shards.get("b");
    await bind(b, onB, provider);
    await b.requestOk("POST", rbac(onB, "ClusterRoleBinding"), {
      ...masters,
      body: adminBinding("nobody"),
    });
    const user = "nobody" as const;
    const read = () => b.get(`/clusters/${onB}${inDefault}`, { user });
    assert.equal((await read()).status, 403);
    const role = {
      ...bindRole,
      metadata: { name: "read" },
      rules: [{ apiGroups: ["wildwest.dev"], resources: ["cowboys"], verbs: ["list"] }],
    };
    const toConsumer = {
      ...bindRoleBinding("apis.kcp.io:binding:nobody"),
      metadata: { name: "read" },
      roleRef: { ...bindRoleBinding("").roleRef, name: "read" },
    };
    for (const body of [role, toConsumer])
      await root.requestOk("POST", rbac(provider, body.kind), { ...masters, body });
    await until(shards, "the policy is known", async () => (await read()).status === 200);
    const write = () =>
      b.request("POST", `/clusters/${onB}${inDefault}`, { user, body: cowboy("x") });
    assert.equal((await write()).status, 403);
    await shards.stop("root");
    await b.server.close();
    b = await shards.restart("b");
    assert.equal((await read()).status, 200);
    assert.equal((await write()).status, 403);
  });
});

describe("a type of another shard", () => {
  const type = (name: string, spec: object) => ({
    metadata: { name, annotations: {} },
    spec: { extend: { with: [{ name: "universal", path: "root" }] }, ...spec },
  });
  const typesOf = (cluster: string) =>
    `/clusters/${cluster}/apis/tenancy.kcp.io/v1alpha1/workspacetypes`;
  const workspacesOf = (cluster: string) =>
    `/clusters/${cluster}/apis/tenancy.kcp.io/v1alpha1/workspaces`;

  it("makes workspaces with its default bindings, its labels and its limits, also after a restart without that shard", async (context) => {
    const shards = await started(context);
    await offerOn(shards, "root", provider);
    const root = shards.get("root");
    let b = shards.get("b");
    await root.requestOk("POST", typesOf(provider), {
      ...masters,
      body: type("base", { additionalWorkspaceLabels: { of: "provider" } }),
    });
    await root.requestOk("POST", typesOf(provider), {
      ...masters,
      body: type("western", {
        extend: {
          with: [
            { name: "universal", path: "root" },
            { name: "base", path: provider },
          ],
        },
        defaultAPIBindings: [{ path: provider, export: "cowboys" }],
      }),
    });
    const user = adminBinding("a");
    const subjects = [...user.subjects, { ...user.subjects[0], name: "nobody" }];
    const admins = { ...user, subjects };
    await b.requestOk("POST", rbac(onB, "ClusterRoleBinding"), { ...masters, body: admins });
    for (const body of [useRole, useRoleBinding])
      await root.requestOk("POST", rbac(provider, body.kind), { ...masters, body });
    const make = (name: string, typeName: string, who: "masters" | "a" | "nobody" = "masters") =>
      b.request("POST", workspacesOf(onB), {
        user: who,
        body: {
          metadata: {
            name,
            ...(who === "masters"
              ? { annotations: { "experimental.tenancy.kcp.io/owner": '{"username":"a"}' } }
              : {}),
          },
          spec: { type: { name: typeName, path: provider } },
        },
      });
    const first = await make("first", "western", "a");
    assert.equal(first.status, 201, first.text);
    await shards.stop("root");
    await b.server.close();
    b = await shards.restart("b");
    const second = await make("second", "western");
    assert.equal(second.status, 201, second.text);
    // Everybody may use it: so may a user whom the shard of the type was not asked about.
    const byTenant = await make("fourth", "western", "nobody");
    assert.equal(byTenant.status, 201, byTenant.text);
    const unknown = await make("third", "unheard");
    assert.equal(unknown.status, 503, unknown.text);
    assert.match(
      unknown.object.message ?? "",
      /WorkspaceType unheard of logical cluster provider is not known on shard b yet, and shard root, which has it, does not answer/,
    );
    const { cluster } = second.object["spec"] as { cluster?: string };
    assert.equal((await b.get(`/clusters/${cluster}${inDefault}`, masters)).status, 200);
  });
});
