/**
 * Goal: a policy that forbids sessions with Pods applies to every protocol, although the Pods run
 * in other clusters.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { type Client, isUpgraded } from "@kcp-ts/sdk";
import { clientHandshake } from "@kcp-ts/sdk/websocket";
import { deployments, startControlPlaneWithClusters, startPhysicalCluster } from "../fixture.ts";
import {
  debug,
  exec,
  log,
  networkClient,
  podPath,
  registerReady,
  runningPods,
  webDeployment,
} from "./fixture.ts";

const registration = "/apis/admissionregistration.k8s.io/v1";

async function scene(t: TestContext) {
  const plane = await startControlPlaneWithClusters(t, { gracePeriods: { recoveryMs: 0 } });
  await plane.listen();
  const east = await startPhysicalCluster(t, { name: "east" });
  const { client } = plane;
  await registerReady(client, "east", east.kubeconfig);
  await client.resource(deployments).create(webDeployment("web", 1));
  const [pod] = await runningPods(client, "web", 1);
  const user = await networkClient(t, plane, { cluster: "root" });
  return { client, user, path: podPath(pod?.metadata.name ?? "") };
}

async function forbid(client: Client, resource: string, validation: JsonObject): Promise<void> {
  const name = resource.replace("/", "-");
  const rule = { apiGroups: [""], apiVersions: ["*"], resources: [resource] };
  const matchConstraints = { resourceRules: [{ operations: ["*"], ...rule }] };
  const send = (path: string, spec: JsonObject) =>
    client.send({
      method: "POST",
      path: `${registration}/${path}`,
      body: { metadata: { name }, spec },
    });
  await send("validatingadmissionpolicies", { matchConstraints, validations: [validation] });
  await send("validatingadmissionpolicybindings", {
    policyName: name,
    validationActions: ["Deny"],
  });
}

const spdy = {
  connection: "Upgrade",
  upgrade: "SPDY/3.1",
  "x-stream-protocol-version": "v4.channel.k8s.io",
};
const transports = {
  "exec?command=ls&stdout=true": ["v5.channel.k8s.io"],
  "attach?stdout=true": ["v5.channel.k8s.io"],
  portforward: ["SPDY/3.1+portforward.k8s.io"],
};

/** What a session is answered with, by a WebSocket and by SPDY. */
async function statuses(client: Client, path: string): Promise<Record<string, number[]>> {
  const found: Record<string, number[]> = {};
  for (const [subresource, protocols] of Object.entries(transports)) {
    const asked = [
      ["GET", clientHandshake(protocols).headers],
      [
        "POST",
        subresource === "portforward"
          ? { ...spdy, "x-stream-protocol-version": "portforward.k8s.io" }
          : spdy,
      ],
    ] as const;
    const answers: number[] = [];
    for (const [method, headers] of asked) {
      const response = await client.upgrade({ method, path: `${path}/${subresource}`, headers });
      if (isUpgraded(response)) response.connection.destroy();
      else await response.body.text();
      answers.push(response.status);
    }
    found[subresource.split("?")[0] as string] = answers;
  }
  return found;
}

describe("policies of a logical cluster", () => {
  it("forbid sessions with Pods of physical clusters, by WebSocket and by SPDY", async (t) => {
    const { client, user, path } = await scene(t);
    assert.deepEqual(await statuses(user, path), {
      exec: [101, 101],
      attach: [101, 101],
      portforward: [101, 101],
    });
    for (const subresource of ["exec", "attach", "portforward", "log"])
      await forbid(client, `pods/${subresource}`, { expression: "false", message: "NO" });
    assert.deepEqual(await statuses(user, path), {
      exec: [422, 422],
      attach: [422, 422],
      portforward: [422, 422],
    });
    const refused = await exec(user, path);
    assert.match(refused.text, /is forbidden: .* denied request: NO/);
    // Logs are read, and reading is not admitted.
    assert.equal((await log(user, path)).status, 200);
  });

  it("judge what is asked for, however it is spelled", async (t) => {
    const { client, user, path } = await scene(t);
    const expression = "!has(object.stdin) || !object.stdin";
    await forbid(client, "pods/exec", { expression, message: "look, do not touch" });
    assert.equal((await exec(user, path)).status, 101);
    for (const stdin of ["true", "1", "yes", ""]) {
      const { headers } = clientHandshake(["v5.channel.k8s.io"]);
      const target = `${path}/exec?command=sh&stdin=${stdin}&stdin=false&stdout=true`;
      const response = await user.upgrade({ method: "GET", path: target, headers });
      assert.equal(response.status, 422, `stdin=${stdin}`);
    }
  });

  it("forbid ephemeral containers, and see each one whole", async (t) => {
    const { client, user, path } = await scene(t);
    const expression =
      "object.spec.ephemeralContainers.all(c, c.image == 'busybox:1.37' && !has(c.securityContext))";
    await forbid(client, "pods/ephemeralcontainers", { expression, message: "busybox only" });
    const privileged = { name: "root", image: "busybox:1.37", securityContext: {} };
    const patch = (ephemeralContainers: readonly JsonObject[]) =>
      user.send({
        method: "PATCH",
        path: `${path}/ephemeralcontainers`,
        contentType: "application/strategic-merge-patch+json",
        body: { spec: { ephemeralContainers } },
      });
    await assert.rejects(patch([privileged]), /busybox only/);
    const { securityContext: _, ...second } = privileged;
    await assert.rejects(patch([privileged, second]), /busybox only/);
    await assert.rejects(patch([{ ...second, $patch: "replace" }]), /directives of patches/);
    const { containers } = await debug(user, path, "shell");
    assert.deepEqual(containers, ["shell"]);
  });
});
