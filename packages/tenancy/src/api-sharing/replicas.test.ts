/**
 * Goal: what a shard keeps of others is nobody's object here, follows its original through every
 * trouble of the other shard, and is removed when nobody uses it.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { StorageKey } from "@kcp-ts/apiserver/storage";
import type { TestShards } from "../testing/index.ts";
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
  alsoOnB,
  conditionIn,
  exportOf,
  identityIn,
  inDefault,
  isEqual,
  masters,
  offerOn,
  onB,
  onC,
  provider,
  services,
  started,
  statusOf,
  until,
} from "./test-support/shards.ts";
import { sheriffSchema, virtualExport } from "./test-support/sheriffs.ts";

const onRoot = "second-provider";
const reserved = /^\/[^/]*\/[^/]*\/(?:replica|content)\/system:replicas\//;

async function replicasIn(shards: TestShards, shard: string): Promise<readonly string[]> {
  const { storage } = shards.get(shard);
  const { signal } = new AbortController();
  const { entries } = await storage.list("/" as StorageKey, { signal, entriesMax: 100_000 });
  return entries.map(({ key }) => key).filter((key) => reserved.test(key));
}

describe("a replica", () => {
  it("is in no list, get or watch of any user, whatever names they ask for", async (context) => {
    const shards = await started(context);
    await offerOn(shards, "root", provider);
    const b = shards.get("b");
    await bind(b, onB, provider);
    assert.equal((await replicasIn(shards, "b")).length > 0, true);
    const all = await b.get(`${apis("*")}/apiexports`, masters);
    assert.deepEqual(all.names, []);
    const schemas = await b.get(`${apis("*", "v1alpha1")}/apiresourceschemas`, masters);
    assert.equal(
      schemas.items.some(
        ({ metadata }) => metadata.annotations?.["kcp.io/cluster"] === "system:replicas",
      ),
      false,
    );
    for (const path of [
      `${apis("system:replicas")}/apiexports`,
      `${apis("system:replicas")}/apiexports:replica`,
      `${apis(onB)}/apiexports:replica`,
      `${apis("*")}/apiexports:replica`,
      `${apis("*", "v1alpha1")}/apiresourceschemas:content`,
    ]) {
      const answer = await b.get(path, masters);
      assert.deepEqual([path, answer.status === 200 ? answer.names : []], [path, []]);
      assert.notEqual((await b.get(path, { user: "nobody" })).status, 200, path);
    }
  });

  it("is not changed by what a tenant writes under its names", async (context) => {
    const shards = await started(context);
    await offerOn(shards, "root", provider);
    const b = shards.get("b");
    await bind(b, onB, provider);
    const before = await replicasIn(shards, "b");
    const hostile = { ...cowboyExport("today"), replica: { revision: 9_999_999, isMarked: true } };
    for (const cluster of ["system:replicas", onB])
      await b.request("POST", `${apis(cluster)}/apiexports`, { ...masters, body: hostile });
    await b.request(
      "POST",
      `/clusters/${onB}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`,
      {
        ...masters,
        body: {
          metadata: { name: "apiexports.apis.kcp.io" },
          spec: { group: "apis.kcp.io", names: { plural: "apiexports", kind: "APIExport" } },
        },
      },
    );
    assert.deepEqual(await replicasIn(shards, "b"), before);
    assert.equal(conditionIn(await binding(b, onB), "APIExportValid")?.status, "True");
  });

  it("of a schema shares its content with all equal schemas", async (context) => {
    const shards = await started(context, ["root", "b", "c"]);
    await offerOn(shards, "root", provider);
    await offerOn(shards, "root", onRoot);
    await offerOn(shards, "c", onC);
    const b = shards.get("b");
    await bind(b, onB, provider);
    await bind(b, alsoOnB, onRoot);
    await bind(b, "2123456789abcdef--b", onC);
    const contents = (await replicasIn(shards, "b")).filter((key) => key.includes("/content/"));
    assert.equal(contents.length, 1);
    for (const cluster of [onB, alsoOnB, "2123456789abcdef--b"])
      await b.requestOk("POST", `/clusters/${cluster}${inDefault}`, {
        ...masters,
        body: cowboy("x"),
      });
  });

  it("without a use is removed after a week, and one that a binding uses stays", async (context) => {
    const shards = await started(context);
    await offerOn(shards, "root", provider);
    await offerOn(shards, "root", onRoot);
    const b = shards.get("b");
    await bind(b, onB, provider);
    await bind(b, alsoOnB, onRoot);
    await b.requestOk("DELETE", `${apis(alsoOnB)}/apibindings/cowboys`, masters);
    const exportsOf = async (cluster: string) =>
      (await replicasIn(shards, "b")).filter((key) => key.endsWith(`/${cluster}/cowboys`)).length;
    await until(
      shards,
      "the binding is removed",
      async () => (await b.get(`${apis(alsoOnB)}/apibindings/cowboys`, masters)).status === 404,
    );
    assert.equal(await exportsOf(onRoot), 1);
    for (let day = 0; day < 8; day++) b.clock.advance(24 * 60 * 60_000);
    await until(shards, "the unused one is removed", async () => {
      // A look every ten minutes.
      b.clock.advance(120_000);
      return (await exportsOf(onRoot)) === 0;
    });
    assert.equal(await exportsOf(provider), 1);
  });
});

describe("an identity", () => {
  it("belongs to the shard from which it was known first", async (context) => {
    const shards = await started(context, ["root", "b", "c"]);
    await offerOn(shards, "root", provider);
    const [root, b, c] = [shards.get("root"), shards.get("b"), shards.get("c")];
    await bind(b, onB, provider);
    await b.requestOk("POST", `/clusters/${onB}${inDefault}`, {
      ...masters,
      body: cowboy("secret"),
    });
    // What a shard without the key may say: here, by the same Secret on another shard.
    const secret = await root.requestOk(
      "GET",
      `/clusters/${provider}/api/v1/namespaces/kcp-system/secrets/cowboys`,
      masters,
    );
    await c.requestOk("POST", `/clusters/${onC}/api/v1/namespaces`, {
      ...masters,
      body: { metadata: { name: "kcp-system" } },
    });
    await c.requestOk("POST", `/clusters/${onC}/api/v1/namespaces/kcp-system/secrets`, {
      ...masters,
      body: { metadata: { name: "cowboys" }, type: "Opaque", data: secret.data },
    });
    await offerOn(shards, "c", onC, {
      identity: { secretRef: { namespace: "kcp-system", name: "cowboys" } },
    });
    assert.equal(
      identityIn(await exportOf(shards, "c", onC)),
      identityIn(await exportOf(shards, "root", provider)),
    );
    const made = await bind(b, alsoOnB, onC);
    assert.equal(conditionIn(made, "APIExportValid")?.status, "False");
    const view = `${services(onC)}/apis/wildwest.dev/v1alpha1/cowboys`;
    const answer = await b.get(view, masters);
    assert.deepEqual(answer.status === 200 ? answer.names : [], []);
    const own = await b.get(`${services(provider)}/apis/wildwest.dev/v1alpha1/cowboys`, masters);
    assert.deepEqual(own.names, ["secret"]);
  });
});

describe("a shard that is slow or silent", () => {
  it("counts as one that does not answer", async (context) => {
    const shards = await started(context);
    await offerOn(shards, "root", provider);
    const b = shards.get("b");
    const resume = shards.stall("root");
    const body = bindingTo(provider);
    const asked = b.request("POST", `${apis(onB)}/apibindings`, { ...masters, body });
    let answer: Awaited<typeof asked> | undefined;
    void asked.then((one) => {
      answer = one;
    });
    await until(shards, "the request is given up", async () => answer !== undefined);
    assert.equal(answer?.status, 503, answer?.text);
    assert.match(answer?.object.message ?? "", /shard root, which has it, does not answer/);
    resume();
    assert.equal(statusOf(await bind(b, onB, provider))["phase"], "Bound");
  });
});

describe("a claim on the resource of a third provider", () => {
  it("is applied, and shows an empty list, where no workspace has bound that provider", async (context) => {
    const shards = await started(context);
    await offerOn(shards, "root", onRoot);
    const identityHash = identityIn(await exportOf(shards, "root", onRoot));
    const claim = { group: "wildwest.dev", resource: "cowboys", identityHash, verbs: ["*"] };
    const [root, b] = [shards.get("root"), shards.get("b")];
    const prefix = "today";
    const schema = {
      ...cowboySchema(prefix),
      metadata: { name: "today.horses.wildwest.dev" },
      spec: {
        ...cowboySchema(prefix).spec,
        names: { plural: "horses", singular: "horse", kind: "Horse", listKind: "HorseList" },
      },
    };
    await root.requestOk("POST", `${apis(provider, "v1alpha1")}/apiresourceschemas`, {
      ...masters,
      body: schema,
    });
    await root.requestOk("POST", `${apis(provider)}/apiexports`, {
      ...masters,
      body: cowboyExport(prefix, {
        resources: [{ name: "horses", group: "wildwest.dev", schema: "today.horses.wildwest.dev" }],
        permissionClaims: [claim],
      }),
    });
    await until(
      shards,
      "it has an identity",
      async () => identityIn(await exportOf(shards, "root", provider)) !== "",
    );
    const accepted = { ...claim, state: "Accepted", selector: { matchAll: true } };
    await bind(b, onB, provider, "cowboys", [accepted]);
    await until(
      shards,
      "the claim is applied",
      async () => conditionIn(await binding(b, onB), "PermissionClaimsApplied")?.status === "True",
    );
    const claimed = `${services(provider)}/apis/wildwest.dev/v1alpha1/cowboys`;
    await until(
      shards,
      "the view knows the resource",
      async () => (await b.get(claimed, masters)).status === 200,
    );
    assert.deepEqual((await b.get(claimed, masters)).names, []);
    await bind(b, alsoOnB, onRoot);
    await bind(b, alsoOnB, provider, "horses", [accepted]);
    await b.requestOk("POST", `/clusters/${alsoOnB}${inDefault}`, {
      ...masters,
      body: cowboy("shown"),
    });
    await until(shards, "the view shows the claimed object", async () =>
      isEqual((await b.get(claimed, masters)).names, ["shown"]),
    );
  });
});

describe("a binding to objects with virtual storage of another shard", () => {
  it("says that they are not supported across shards", async (context) => {
    const shards = await started(context);
    const [root, b] = [shards.get("root"), shards.get("b")];
    await root.requestOk("POST", `${apis(provider, "v1alpha1")}/apiresourceschemas`, {
      ...masters,
      body: sheriffSchema,
    });
    await root.requestOk("POST", `${apis(provider)}/apiexports`, {
      ...masters,
      body: virtualExport("0".repeat(64)),
    });
    const isReady = async () =>
      identityIn(await root.requestOk("GET", `${apis(provider)}/apiexports/law`, masters)) !== "";
    await until(shards, "the export has an identity", isReady);
    const made = await b.requestOk("POST", `${apis(onB)}/apibindings`, {
      ...masters,
      body: {
        metadata: { name: "law" },
        spec: { reference: { export: { path: provider, name: "law" } } },
      },
    });
    assert.match(
      conditionIn(made, "BindingUpToDate")?.message ?? "",
      /not supported across shards/,
    );
  });
});
