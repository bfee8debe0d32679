/**
 * Objects as Go clients encode them: structs that are never omitted, empty lists as null, a
 * creationTimestamp of null.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { TestServer } from "../testing/index.ts";

const metadata = (name: string) => ({ name, creationTimestamp: null });

const objects: Readonly<Record<string, readonly [path: string, object]>> = {
  "a WorkspaceAuthenticationConfiguration": [
    "tenancy.kcp.io/v1alpha1/workspaceauthenticationconfigurations",
    {
      spec: {
        jwt: [
          {
            issuer: { url: "https://example.com" },
            claimMappings: { username: { claim: "sub" }, groups: { claim: "groups" }, uid: {} },
          },
        ],
      },
    },
  ],
  "a WorkspaceAuthenticationConfiguration without issuers": [
    "tenancy.kcp.io/v1alpha1/workspaceauthenticationconfigurations",
    { spec: { jwt: [] } },
  ],
  "a Workspace": ["tenancy.kcp.io/v1alpha1/workspaces", { spec: {}, status: {} }],
  "a WorkspaceType": [
    "tenancy.kcp.io/v1alpha1/workspacetypes",
    { spec: { extend: {} }, status: {} },
  ],
  "a WorkspaceType that refers by name": [
    "tenancy.kcp.io/v1alpha1/workspacetypes",
    {
      spec: {
        extend: {},
        defaultChildWorkspaceType: { name: "universal" },
        limitAllowedChildren: { types: [{ name: "universal" }] },
      },
    },
  ],
  "an APIExport": ["apis.kcp.io/v1alpha2/apiexports", { spec: {}, status: {} }],
  "an APIExport of the older version": [
    "apis.kcp.io/v1alpha1/apiexports",
    { spec: {}, status: {} },
  ],
  "an APIBinding": [
    "apis.kcp.io/v1alpha2/apibindings",
    { spec: { reference: { export: { name: "nowhere" } } }, status: {} },
  ],
  "an APIConversion": ["apis.kcp.io/v1alpha1/apiconversions", { spec: { conversions: [] } }],
  "a Partition": ["topology.kcp.io/v1alpha1/partitions", { spec: {} }],
  "a PartitionSet": ["topology.kcp.io/v1alpha1/partitionsets", { spec: {}, status: {} }],
  "a Shard": [
    "core.kcp.io/v1alpha1/shards",
    { spec: { baseURL: "https://example.com" }, status: {} },
  ],
};

describe("zero values of Go", () => {
  let test: TestServer;
  before(async () => {
    test = await TestServer.start();
    await test.server.bootstrap("https://kcp.example.com");
  });
  after(() => test.close());

  for (const [index, [what, [path, object]]] of Object.entries(objects).entries())
    it(`are taken for ${what}`, async () => {
      const at = `/clusters/root/apis/${path}`;
      const body = { ...object, metadata: metadata(`zero-${index}`) };
      const created = await test.request("POST", at, { user: "masters", body });
      assert.equal(created.status, 201, created.text);
      const again = await test.request("PUT", `${at}/zero-${index}`, {
        user: "masters",
        body: created.object,
      });
      assert.equal(again.status, 200, again.text);
    });

  it("are rejected where kcp rejects them, with its error messages", async () => {
    const at = "/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaceauthenticationconfigurations";
    const claimMappings = { username: { claim: "sub" }, groups: {}, uid: {} };
    const body = {
      metadata: metadata("refused"),
      spec: { jwt: [{ issuer: { url: "https://example.com" }, claimMappings }] },
    };
    const { status, text } = await test.request("POST", at, { user: "masters", body });
    assert.equal(status, 422);
    assert.match(text, /either claim or expression must be specified/);
  });
});
