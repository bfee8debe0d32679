/**
 * Goal: webhooks and policies receive objects in the requested version, or in the version of their
 * rules, never in the storage version by accident.
 */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { install, register, registration, TestServer, WebhookServer } from "../../testing/index.ts";

let webhook: WebhookServer;
let server: TestServer;
before(async () => {
  webhook = await WebhookServer.start();
});
after(() => webhook.close());

const group = "stable.example.com";
const at = (version: string) => `/clusters/a/apis/${group}/${version}/namespaces/n/things`;
const every = ["CREATE", "UPDATE", "DELETE"];

beforeEach(async () => {
  webhook.reset();
  webhook.respondWith("/see", () => ({}));
  server = await TestServer.start();
  await server.requestOk("POST", "/clusters/a/api/v1/namespaces", {
    body: { metadata: { name: "n" } },
  });
  const version = (name: string, storage: boolean) => ({
    name,
    storage,
    served: true,
    schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
  });
  await install(server, {
    metadata: { name: `things.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList" },
      versions: [version("v1", false), version("v2", true)],
    },
  });
});
afterEach(() => server.close());

function watchedBy(
  kind: "mutating" | "validating",
  apiVersions: readonly string[],
  operations: readonly string[] = every,
): Promise<unknown> {
  return register(server, kind, {
    name: "see.example.com",
    clientConfig: webhook.client("/see"),
    rules: [{ operations, apiGroups: [group], apiVersions, resources: ["things", "things/*"] }],
  });
}

/** Of each review: the resource, and the versions of both objects. */
const seen = () =>
  webhook.receivedReviews.map(({ request }) => [
    request.operation,
    (request["resource"] as { version: string }).version,
    (request["requestResource"] as { version: string }).version,
    request.object?.apiVersion?.split("/")[1],
    request.oldObject?.apiVersion?.split("/")[1],
  ]);

const thing = (name: string) => ({ metadata: { name }, spec: {} });

for (const kind of ["mutating", "validating"] as const)
  describe(`a ${kind} webhook`, () => {
    for (const asked of ["v1", "v2"]) {
      it(`receives objects in ${asked} when that is asked for`, async () => {
        await watchedBy(kind, ["*"]);
        await server.requestOk("POST", at(asked), { body: thing("x") });
        const patch = { spec: { a: 1 } };
        assert.equal((await server.patch(`${at(asked)}/x`, "merge", patch)).status, 200);
        await server.requestOk("DELETE", `${at(asked)}/x`);
        assert.deepEqual(seen(), [
          ["CREATE", asked, asked, asked, undefined],
          ["UPDATE", asked, asked, asked, asked],
          ["DELETE", asked, asked, undefined, asked],
        ]);
      });

      it(`receives objects in the version that its rules name when ${asked} is asked for`, async () => {
        const other = asked === "v1" ? "v2" : "v1";
        await watchedBy(kind, [other]);
        await server.requestOk("POST", at(asked), { body: thing("x") });
        const patch = { spec: { a: 1 } };
        assert.equal((await server.patch(`${at(asked)}/x`, "merge", patch)).status, 200);
        await server.requestOk("DELETE", `${at(asked)}/x`);
        assert.deepEqual(seen(), [
          ["CREATE", other, asked, other, undefined],
          ["UPDATE", other, asked, other, other],
          ["DELETE", other, asked, undefined, other],
        ]);
      });

      it(`receives all objects of a deleted collection in ${asked}`, async () => {
        for (const name of ["x", "y"])
          await server.requestOk("POST", at("v2"), { body: thing(name) });
        await watchedBy(kind, ["*"], ["DELETE"]);
        const gone = await server.requestOk("DELETE", at(asked));
        for (const item of gone.items ?? []) assert.equal(item.apiVersion, `${group}/${asked}`);
        const one = ["DELETE", asked, asked, undefined, asked];
        assert.deepEqual(seen(), [one, one]);
      });
    }
  });

describe("a policy", () => {
  it("receives a deleted object in the requested version", async () => {
    await server.requestOk("POST", at("v2"), { body: thing("x") });
    const path = `/clusters/a${registration}`;
    const rules = [{ operations: ["DELETE"], apiGroups: [group], apiVersions: ["v1"] }];
    await server.requestOk("POST", `${path}/validatingadmissionpolicies`, {
      body: {
        metadata: { name: "p" },
        spec: {
          matchConstraints: {
            matchPolicy: "Exact",
            resourceRules: [{ ...rules[0], resources: ["things"] }],
          },
          validations: [{ expression: `oldObject.apiVersion == '${group}/v1'` }],
        },
      },
    });
    await server.requestOk("POST", `${path}/validatingadmissionpolicybindings`, {
      body: { metadata: { name: "p" }, spec: { policyName: "p", validationActions: ["Deny"] } },
    });
    const { status, text } = await server.request("DELETE", `${at("v1")}/x`);
    assert.equal(status, 200, text);
  });
});
