/** kubectl and custom resources: define, wait, use, look at, scale, change, delete. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { findKubectl, kubectlMissing } from "@kcp-ts/testkit";
import { type KcpProcess, startKcp, temporaryFolder } from "./kcp-process.ts";
import { Kubectl } from "./kubectl.ts";

const definition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "crontabs.stable.example.com" },
  spec: {
    group: "stable.example.com",
    scope: "Namespaced",
    names: {
      plural: "crontabs",
      singular: "crontab",
      kind: "CronTab",
      shortNames: ["ct"],
      categories: ["all"],
    },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: {
          status: {},
          scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
        },
        additionalPrinterColumns: [
          { name: "Spec", type: "string", jsonPath: ".spec.cronSpec" },
          { name: "Replicas", type: "integer", jsonPath: ".spec.replicas" },
          { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
        ],
        schema: {
          openAPIV3Schema: {
            type: "object",
            description: "Runs something now and then.",
            properties: {
              spec: {
                type: "object",
                description: "What to run, and when.",
                required: ["cronSpec"],
                properties: {
                  cronSpec: {
                    type: "string",
                    description: "When to run it.",
                    pattern: "^[0-9 */]+$",
                  },
                  image: { type: "string", description: "What to run." },
                  replicas: { type: "integer", minimum: 0, maximum: 10, default: 1 },
                },
              },
              status: { type: "object", properties: { replicas: { type: "integer" } } },
            },
          },
        },
      },
    ],
  },
};

const object = (replicas: number, image = "one") => ({
  apiVersion: "stable.example.com/v1",
  kind: "CronTab",
  metadata: { name: "mine" },
  spec: { cronSpec: "* * * * */5", image, replicas },
});

describe("kubectl with custom resources", { skip: kubectlMissing() ?? false }, () => {
  let kcp: KcpProcess;
  let kubectl: Kubectl;
  let other: Kubectl;
  const cleanups: (() => Promise<unknown>)[] = [];
  before(async () => {
    const folder = await temporaryFolder({ after: (cleanup) => cleanups.unshift(cleanup) });
    kcp = await startKcp(join(folder, "root"), "--storage", "memory");
    cleanups.unshift(() => kcp.stop());
    const binary = findKubectl() as string;
    kubectl = new Kubectl(binary, join(folder, "cache"), ["--kubeconfig", kcp.kubeconfig]);
    other = new Kubectl(binary, join(folder, "other"), ["--kubeconfig", kcp.kubeconfig]).with(
      "--context",
      "base",
      "--server",
      `${kcp.url}/clusters/other`,
    );
  });
  after(async () => {
    for (const cleanup of cleanups) await cleanup();
  });

  it("defines a resource and waits for it", async () => {
    await kubectl.feed(JSON.stringify(definition), "create", "-f", "-");
    const waited = await kubectl.run(
      ...[
        "wait",
        "--for=condition=Established",
        "crd/crontabs.stable.example.com",
        "--timeout=150s",
      ],
    );
    assert.match(waited, /condition met/);
    assert.match(
      await kubectl.run("api-resources", "--api-group=stable.example.com"),
      /crontabs +ct +stable\.example\.com\/v1 +true +CronTab/,
    );
    assert.doesNotMatch(await other.run("api-resources"), /crontabs/);
  });

  it("creates, gets, describes and explains", async () => {
    await kubectl.feed(JSON.stringify(object(2)), "apply", "-f", "-");
    assert.match(
      await kubectl.run("get", "ct"),
      /NAME +SPEC +REPLICAS +AGE\nmine +\* \* \* \* \*\/5 +2 +/,
    );
    assert.match(await kubectl.run("get", "all"), /^mine /m);
    assert.match(await kubectl.run("describe", "ct", "mine"), /Cron Spec: +\* \* \* \* \*\/5/);
    const explained = await kubectl.run("explain", "crontab.spec");
    assert.match(explained, /What to run, and when\./);
    assert.match(explained, /cronSpec\s+<string> -required-/);
  });

  it("gets an error that names the invalid field", async () => {
    const bad = { ...object(11), metadata: { name: "bad" } };
    await assert.rejects(
      kubectl.feed(JSON.stringify(bad), "create", "-f", "-"),
      /spec\.replicas: Invalid value: 11: spec\.replicas in body should be less than or equal to 10/,
    );
    const unknown = { ...bad, spec: { cronSpec: "1", nope: 1 } };
    await assert.rejects(
      kubectl.feed(JSON.stringify(unknown), "create", "-f", "-"),
      /strict decoding error: unknown field "spec\.nope"/,
    );
  });

  it("scales and patches", async () => {
    await kubectl.run("scale", "--replicas=5", "ct/mine");
    await kubectl.run("patch", "ct", "mine", "--type=merge", "-p", '{"spec":{"image":"two"}}');
    await kubectl.run(
      "patch",
      "ct",
      "mine",
      "--subresource=status",
      "--type=merge",
      "-p",
      '{"status":{"replicas":3}}',
    );
    const shown = await kubectl.run(
      "get",
      "ct",
      "mine",
      "-o",
      "jsonpath={.spec.replicas} {.spec.image} {.status.replicas}",
    );
    assert.equal(shown, "5 two 3");
  });

  it("applies on the server, and sees conflicts", async () => {
    const conflict = kubectl.feed(
      JSON.stringify(object(4, "three")),
      "apply",
      "--server-side",
      "-f",
      "-",
    );
    await assert.rejects(conflict, /conflict/);
    const forced = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
    await kubectl.feed(JSON.stringify(object(4, "three")), ...forced);
    assert.equal(await kubectl.run("get", "ct", "mine", "-o", "jsonpath={.spec.image}"), "three");
  });

  it("deletes the objects with their definition", async () => {
    await kubectl.run("delete", "crd", "crontabs.stable.example.com", "--timeout=150s");
    await assert.rejects(
      kubectl.run("get", "ct"),
      /the server doesn't have a resource type|could not find/,
    );
  });
});
