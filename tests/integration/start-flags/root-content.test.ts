/** Goal: what root begins with, and who has a home, is as the operator says. */
import assert from "node:assert/strict";
import { access, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { eventually } from "@kcp-ts/testkit";
import { startControlPlaneWithFlags } from "./started-control-plane.ts";

const tenancy = "/clusters/root/apis/tenancy.kcp.io/v1alpha1";
const home = `${tenancy}/workspaces/~`;

describe("batteries", () => {
  const typesOf = async (
    plane: Awaited<ReturnType<typeof startControlPlaneWithFlags>>,
  ): Promise<readonly string[]> => {
    const { body } = await plane.ask(`${tenancy}/workspacetypes`, {
      token: await plane.tokenOf("kcp-admin"),
    });
    return (body["items"] as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name);
  };

  it("are the types of organizations and an administrator, if nothing is said", async (t) => {
    const plane = await startControlPlaneWithFlags(t);
    assert.deepEqual(await typesOf(plane), ["home", "organization", "root", "team", "universal"]);
    await assert.rejects(plane.tokenOf("user"), /user is not in the kubeconfig/);
  });

  it("can be changed: a plain user, no organizations, a user who reads metrics", async (t) => {
    const plane = await startControlPlaneWithFlags(t, {
      batteriesIncluded: ["+user", "-workspace-types", "+metrics-viewer"],
      controllers: true,
    });
    assert.deepEqual(await typesOf(plane), ["home", "root", "universal"]);
    const token = await plane.tokenOf("user");
    const review = await plane.ask(
      "/clusters/root/apis/authentication.k8s.io/v1/selfsubjectreviews",
      { token, method: "POST", body: {} },
    );
    assert.deepEqual((review.body["status"] as { userInfo: object }).userInfo, {
      username: "user",
      groups: ["system:authenticated"],
    });
    const made = await plane.ask(`${tenancy}/workspaces`, {
      token: await plane.tokenOf("kcp-admin"),
      method: "POST",
      body: { metadata: { name: "plain" } },
    });
    const { type } = made.body["spec"] as { type: object };
    assert.deepEqual(type, { name: "universal", path: "root" });
    const secret = await eventually(async () => {
      const { body } = await plane.ask("/clusters/root/api/v1/namespaces/default/secrets/metrics", {
        token: await plane.tokenOf("kcp-admin"),
      });
      const data = body["data"] as { token?: string } | undefined;
      assert.ok(data?.token);
      return data.token;
    });
    const viewer = Buffer.from(secret, "base64").toString("utf8");
    assert.equal((await plane.ask("/metrics", { token: viewer })).status, 200);
    assert.equal((await plane.ask("/metrics", { token })).status, 403);
  });

  it("without an administrator have no kubeconfig and no tokens", async (t) => {
    const plane = await startControlPlaneWithFlags(t, { batteriesIncluded: ["workspace-types"] });
    await assert.rejects(access(plane.plane.kubeconfigPath));
    assert.equal((await plane.ask("/healthz")).status, 200);
  });

  for (const [given, message] of [
    [["nuclear"], /unknown battery: nuclear/],
    [["+user", "admin"], /--batteries-included must all be prefixed with \+ or - or none/],
    [["user"], /battery user enabled which requires admin as well/],
  ] as const) {
    it(`are refused as ${given.join(",")}`, (t) =>
      assert.rejects(startControlPlaneWithFlags(t, { batteriesIncluded: given }), message));
  }
});

describe("home workspaces", () => {
  it("are for the groups that are named, and follow the next start", async (t) => {
    const tokens = 'one,alice,1,"builders"\ntwo,bob,2\n';
    const first = await startControlPlaneWithFlags(t);
    const tokenAuthFile = join(first.rootDirectory, "tokens.csv");
    await writeFile(tokenAuthFile, tokens);
    const storage = { kind: "embedded" } as const;
    const rootDirectory = join(first.rootDirectory, "data");
    const options = { tokenAuthFile, storage, rootDirectory };
    const before = await startControlPlaneWithFlags(t, {
      ...options,
      homeCreatorGroups: ["builders"],
    });
    assert.equal((await before.ask(home, { token: "one" })).status, 200);
    const refused = await before.ask(home, { token: "two" });
    assert.equal(refused.status, 403);
    assert.equal(
      refused.body["message"],
      'workspaces.tenancy.kcp.io "~" is forbidden: User "bob" cannot create resource "workspaces" in API group "tenancy.kcp.io" at the cluster scope: workspace access not permitted',
    );
    await before.plane.stop();
    const after = await startControlPlaneWithFlags(t, {
      ...options,
      homeCreatorGroups: ["others"],
    });
    assert.equal((await after.ask(home, { token: "one" })).status, 403);
  });

  it("can be turned off: then ~ is the name of no workspace", async (t) => {
    const plane = await startControlPlaneWithFlags(t, { homeWorkspaces: false });
    const { status, body } = await plane.ask(home, { token: await plane.tokenOf("kcp-admin") });
    assert.equal(status, 404);
    assert.equal(body["message"], 'workspaces.tenancy.kcp.io "~" not found');
  });
});

describe("names that are given at the start", () => {
  it("of feature gates are those that kcp knows; gates without an effect are reported", async (t) => {
    const plane = await startControlPlaneWithFlags(t, {
      featureGates: ["WorkspaceMounts=true", "CacheAPIs=true", "WatchList=false"],
    });
    const told = plane.lines.filter((line) => line.includes("this feature gate switches nothing"));
    assert.deepEqual(
      told.map((line) => (JSON.parse(line) as { gate: string }).gate),
      ["CacheAPIs", "WatchList"],
    );
  });

  for (const [gate, message] of [
    ["Nonsense=true", /unrecognized feature gate: Nonsense/],
    ["WorkspaceMounts", /missing bool value for WorkspaceMounts/],
    ["WatchList=yes", /invalid value of WatchList=yes, err: strconv.ParseBool: parsing "yes"/],
  ] as const) {
    it(`are refused as ${gate}`, (t) =>
      assert.rejects(startControlPlaneWithFlags(t, { featureGates: [gate] }), message));
  }

  it("of a shard other than root need the kubeconfig of root", async (t) => {
    await startControlPlaneWithFlags(t, { shardName: "root" });
    await assert.rejects(
      startControlPlaneWithFlags(t, { shardName: "two" }),
      /--shard-name two: give --root-shard-kubeconfig-file, too/,
    );
  });
});
