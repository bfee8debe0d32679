import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock } from "@kcp-ts/testkit";
import { Client, type InProcessResponse, InProcessTransport } from "../client/index.ts";
import { discover } from "./discover.ts";
import { discoverLegacy, legacyLimits } from "./legacy.ts";
import { RestMapper, rediscoverAfterMs } from "./rest-mapper.ts";

const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const kind = (name: string) => ({ group: "", version: "", kind: name });
const verbs = ["get", "list"];

const aggregatedDocuments: Record<string, unknown> = {
  "/api": {
    items: [
      {
        metadata: { name: "" },
        versions: [
          {
            version: "v1",
            freshness: "Current",
            resources: [
              {
                resource: "pods",
                responseKind: kind("Pod"),
                scope: "Namespaced",
                singularResource: "pod",
                verbs,
                shortNames: ["po"],
                categories: ["all"],
                subresources: [
                  { subresource: "status", responseKind: kind("Pod"), verbs },
                  { subresource: "odd", verbs },
                ],
              },
              { resource: "kindless", scope: "Cluster", verbs },
            ],
          },
        ],
      },
    ],
  },
  "/apis": {
    items: [
      {
        metadata: { name: "apps" },
        versions: [
          {
            version: "v1",
            resources: [
              {
                resource: "deployments",
                responseKind: kind("Deployment"),
                scope: "Namespaced",
                singularResource: "deployment",
                shortNames: ["deploy"],
                verbs,
              },
            ],
          },
          {
            version: "v1beta1",
            resources: [
              {
                resource: "deployments",
                responseKind: kind("Deployment"),
                scope: "Namespaced",
                verbs,
              },
            ],
          },
          { version: "v2alpha1", freshness: "Stale" },
        ],
      },
      {
        metadata: { name: "example.io" },
        versions: [
          {
            version: "v1",
            resources: [
              {
                resource: "pods",
                responseKind: kind("Pod"),
                scope: "Cluster",
                verbs,
                shortNames: ["deployment"],
              },
            ],
          },
        ],
      },
    ],
  },
};

const legacyDocuments: Record<string, unknown> = {
  "/api": { kind: "APIVersions", versions: ["v1"] },
  "/apis": {
    kind: "APIGroupList",
    groups: [
      {
        name: "apps",
        versions: [{ version: "v1beta1" }, { version: "v1" }],
        preferredVersion: { version: "v1" },
      },
      { name: "broken.io", versions: [{ version: "v1" }], preferredVersion: { version: "v1" } },
    ],
  },
  "/api/v1": {
    resources: [
      {
        name: "pods",
        kind: "Pod",
        namespaced: true,
        singularName: "pod",
        verbs,
        shortNames: ["po"],
        categories: ["all"],
      },
      { name: "pods/status", kind: "Pod", namespaced: true, verbs },
    ],
  },
  "/apis/apps/v1": {
    resources: [{ name: "deployments", kind: "Deployment", namespaced: true, verbs }],
  },
  "/apis/apps/v1beta1": {
    resources: [{ name: "deployments", kind: "Deployment", namespaced: true, verbs }],
  },
};

function setUp(documents: Record<string, unknown>, aggregated: readonly string[]) {
  const asked: string[] = [];
  const clock = new FakeClock();
  const transport = new InProcessTransport(({ path, headers }): InProcessResponse => {
    asked.push(path);
    const document = documents[path];
    if (document === undefined) return { status: 404, body: "" };
    const isWanted = String(headers["accept"]).includes("APIGroupDiscoveryList");
    const type = aggregated.includes(path) && isWanted ? aggregatedType : "application/json";
    const body = aggregated.includes(path) && !isWanted ? legacyDocuments[path] : document;
    return { status: 200, headers: { "content-type": type }, body: JSON.stringify(body) };
  });
  const client = new Client({ transport, clock });
  return { asked, clock, client, mapper: new RestMapper(client) };
}

describe("discovery", () => {
  it("fetches two documents where the server aggregates", async () => {
    const { client, asked } = setUp(aggregatedDocuments, ["/api", "/apis"]);
    const { groups, failures } = await discover(client);
    assert.deepEqual(asked, ["/api", "/apis"]);
    assert.deepEqual(
      groups.map(({ name }) => name),
      ["", "apps", "example.io"],
    );
    assert.deepEqual(groups[0]?.versions[0]?.resources, [
      {
        group: "",
        version: "v1",
        resource: "pods",
        kind: "Pod",
        namespaced: true,
        singular: "pod",
        verbs,
        shortNames: ["po"],
        categories: ["all"],
        subresources: [{ name: "status", kind: "Pod", verbs }],
      },
    ]);
    assert.deepEqual([...failures.keys()], ["apps/v2alpha1"]);
  });

  it("falls back to a document for each version, and continues without those that fail", async () => {
    const { client } = setUp(legacyDocuments, []);
    const { groups, failures } = await discover(client);
    assert.deepEqual(
      groups.map(({ name, versions }) => [name, versions.map(({ version }) => version)]),
      [
        ["", ["v1"]],
        ["apps", ["v1", "v1beta1"]],
        ["broken.io", ["v1"]],
      ],
    );
    assert.deepEqual(groups[0]?.versions[0]?.resources[0]?.subresources, [
      { name: "status", kind: "Pod", verbs },
    ]);
    assert.deepEqual([...failures.keys()], ["broken.io/v1"]);
  });

  it("fetches document by document when only one of the two documents is aggregated", async () => {
    const mixed = { ...legacyDocuments, "/api": aggregatedDocuments["/api"] };
    const { client } = setUp(mixed, ["/api"]);
    const { groups } = await discover(client);
    assert.deepEqual(
      groups.map(({ name }) => name),
      ["", "apps", "broken.io"],
    );
  });

  it("reads each resource of a long document once, whatever other resources it names", async () => {
    let reads = 0;
    const counted = (name: string) =>
      Object.defineProperty({ kind: "Pod", verbs }, "name", {
        get: () => {
          reads++;
          return name;
        },
      });
    const resources = Array.from({ length: 2000 }, (_, i) => [
      counted(`r${i}`),
      counted(`r${i}/status`),
    ]).flat();
    const client = {
      document: async () => assert.fail("roots are given"),
      json: async () => ({ resources }),
    } as unknown as Client;
    const roots = { core: { versions: ["v1"] }, groups: undefined };
    const { groups } = await discoverLegacy(client, roots, {});
    const found = groups[0]?.versions[0]?.resources ?? [];
    assert.equal(found.length, 2000);
    assert.deepEqual(found[7]?.subresources, [{ name: "status", kind: "Pod", verbs }]);
    assert.ok(reads <= 3 * resources.length, `${reads} reads of ${resources.length} names`);
  });

  it("ends at a limit of documents and of resources that one server names", async () => {
    const documents = (count: number) => {
      const groups = Array.from({ length: count }, (_, i) => ({
        name: `g${i}`,
        versions: [{ version: "v1" }],
      }));
      return setUp({ "/api": { versions: [] }, "/apis": { groups } }, []);
    };
    const { documentsMax, resourcesMax } = legacyLimits;
    const within = documents(documentsMax);
    assert.equal((await discover(within.client)).groups.length, documentsMax);
    const beyond = documents(documentsMax + 1);
    await assert.rejects(discover(beyond.client), /limit is 4000 versions of groups/);
    assert.equal(beyond.asked.length, 2);
    const named = (count: number) => {
      const resources = Array.from({ length: count }, (_, i) => ({ name: `r${i}` }));
      return setUp({ "/api": { versions: ["v1"] }, "/api/v1": { resources } }, []).client;
    };
    const { groups } = await discover(named(resourcesMax));
    assert.equal(groups[0]?.versions[0]?.resources.length, resourcesMax);
    await assert.rejects(discover(named(resourcesMax + 1)), /limit is 20000 resources/);
  });

  it("supports a server without a core group", async () => {
    const { client } = setUp({ "/apis": aggregatedDocuments["/apis"] }, ["/apis"]);
    const { groups } = await discover(client);
    assert.deepEqual(
      groups.map(({ name }) => name),
      ["apps", "example.io"],
    );
  });
});

describe("a REST mapper", () => {
  it("finds resources by kind, by name, and by what users type", async () => {
    const { mapper } = setUp(aggregatedDocuments, ["/api", "/apis"]);
    const resolved = async (words: string) => {
      const found = await mapper.resolve(words);
      return found === undefined ? undefined : `${found.resource}.${found.version}.${found.group}`;
    };
    assert.equal((await mapper.resourceOf({ group: "apps", kind: "Deployment" }))?.version, "v1");
    const beta = { group: "apps", version: "v1beta1", resource: "deployments" };
    assert.equal((await mapper.find(beta))?.kind, "Deployment");
    assert.equal(await resolved("po"), "pods.v1.");
    assert.equal(await resolved("Pod"), "pods.v1.");
    assert.equal(await resolved("deployment"), "deployments.v1.apps");
    assert.equal(await resolved("deploy"), "deployments.v1.apps");
    assert.equal(await resolved("deployments.v1beta1.apps"), "deployments.v1beta1.apps");
    assert.equal(await resolved("pods.example.io"), "pods.v1.example.io");
    assert.equal(await resolved("pods.v1"), "pods.v1.");
    assert.equal(await resolved("nothing"), undefined);
  });

  it("repeats discovery for an unknown resource, but at a limited rate", async () => {
    const documents = { ...aggregatedDocuments, "/apis": { items: [] as unknown[] } };
    const { mapper, asked, clock } = setUp(documents, ["/api", "/apis"]);
    const look = () => mapper.resourceOf({ group: "apps", kind: "Deployment" });
    assert.equal(await look(), undefined);
    assert.equal(asked.length, 2);
    clock.advance(rediscoverAfterMs - 1);
    assert.equal(await look(), undefined);
    assert.equal(asked.length, 2);
    documents["/apis"] = aggregatedDocuments["/apis"] as never;
    clock.advance(1);
    assert.equal((await look())?.resource, "deployments");
    assert.equal(asked.length, 4);
    mapper.invalidate();
    await Promise.all([look(), look()]);
    assert.equal(asked.length, 6);
  });
});
