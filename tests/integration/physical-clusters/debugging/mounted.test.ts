/**
 * Goal: commands are run through a workspace that is a mount of another workspace of this server,
 * by who may run them there.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { workspaces } from "@kcp-ts/sdk/kinds";
import { mountWorkspace, type TestControlPlane } from "@kcp-ts/testing/internal";
import {
  deployments,
  eventually,
  startControlPlaneWithClusters,
  startPhysicalCluster,
} from "../fixture.ts";
import {
  exec,
  networkClient,
  podPath,
  registerReady,
  runningPods,
  webDeployment,
} from "./fixture.ts";

const bob = { username: "bob", groups: ["system:authenticated"] };

describe("a session through a mount of a workspace of this server", () => {
  /** A Pod in `root:team`, which is also reached as `root:door`. */
  async function scene(t: TestContext): Promise<{ plane: TestControlPlane; path: string }> {
    const plane = await startControlPlaneWithClusters(t, { gracePeriods: { recoveryMs: 0 } });
    // From here on workspaces are at its port, and that is what makes a mount one of our own.
    await plane.listen();
    const east = await startPhysicalCluster(t, { name: "east" });
    const root = plane.clientFor("root");
    const made = await root.resource(workspaces).create({ metadata: { name: "team" } });
    const team = plane.clientFor("root:team");
    await registerReady(team, "east", east.kubeconfig);
    await team.resource(deployments).create(webDeployment("web", 1));
    const [pod] = await runningPods(team, "web", 1);
    const { URL: url } = made["spec"] as unknown as { URL: string };
    await mountWorkspace(root, "door", url);
    return { plane, path: podPath(pod?.metadata.name ?? "") };
  }

  it("runs commands for users who may run them in the mounted workspace, and for no other user", async (t) => {
    const { plane, path } = await scene(t);
    const admin = await networkClient(t, plane, { cluster: "root:door" });
    await eventually(async () => assert.equal((await exec(admin, path)).status, 101));
    const { text } = await exec(admin, path);
    assert.equal(text.trim(), path.split("/").at(-1));
    const stranger = await networkClient(t, plane, { cluster: "root:door", user: bob });
    const refused = await exec(stranger, path);
    assert.equal(refused.status, 403);
    const unknown = await exec(
      await networkClient(t, plane, { cluster: "root:nowhere", user: bob }),
      path,
    );
    assert.equal(unknown.status, 403);
  });
});
