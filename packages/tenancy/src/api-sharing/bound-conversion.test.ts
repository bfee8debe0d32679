/**
 * Goal: a schema with several versions and a conversion webhook serves consumers in each version.
 */
import assert from "node:assert/strict";
import { it } from "node:test";
import { type AnyObject, flushPendingWork, WebhookServer } from "@kcp-ts/apiserver/testing";
import { TestServer } from "../testing/index.ts";
import { apis, bind, cowboy, cowboyExport, cowboySchema } from "./test-support/cowboys.ts";

const masters = { user: "masters" } as const;
const inVersion = (version: string) =>
  `/clusters/consumer/apis/wildwest.dev/${version}/namespaces/default/cowboys`;

/** v1alpha1 has spec.intent, v1beta1 has spec.wish: both fields have the same value. */
function converted(object: AnyObject, apiVersion: string): object {
  const { intent, wish } = object["spec"] as { intent?: string; wish?: string };
  const word = intent ?? wish;
  const spec = apiVersion.endsWith("v1beta1") ? { wish: word } : { intent: word };
  return { ...object, apiVersion, spec };
}

it("bound objects are converted by the webhook of their schema", async () => {
  const webhooks = await WebhookServer.start();
  webhooks.respondWith("/convert", (request) => {
    const { uid, desiredAPIVersion, objects } = request as unknown as {
      uid: string;
      desiredAPIVersion: string;
      objects: readonly AnyObject[];
    };
    const convertedObjects = objects.map((object) => converted(object, desiredAPIVersion));
    const response = { uid, result: { status: "Success" }, convertedObjects };
    return { raw: { kind: "ConversionReview", apiVersion: "apiextensions.k8s.io/v1", response } };
  });
  const test = await TestServer.start();
  const { spec, ...rest } = cowboySchema("today");
  const [old] = spec.versions;
  const member = (name: string) => ({
    type: "object",
    properties: { spec: { type: "object", properties: { [name]: { type: "string" } } } },
  });
  const versions = [
    { ...old, name: "v1beta1", storage: false, schema: member("wish") },
    { ...old, schema: member("intent") },
  ];
  const { url, caBundle } = webhooks.client("/convert") as { url: string; caBundle: string };
  const webhook = { clientConfig: { url, caBundle }, conversionReviewVersions: ["v1"] };
  const conversion = { strategy: "Webhook", webhook };
  await test.requestOk("POST", `${apis("provider", "v1alpha1")}/apiresourceschemas`, {
    ...masters,
    body: { ...rest, spec: { ...spec, versions, conversion } },
  });
  const exported = cowboyExport("today");
  await test.requestOk("POST", `${apis("provider")}/apiexports`, { ...masters, body: exported });
  await flushPendingWork(test);
  await bind(test, "consumer", "provider");
  await test.requestOk("POST", "/clusters/consumer/api/v1/namespaces", {
    ...masters,
    body: { metadata: { name: "default" } },
  });
  await test.requestOk("POST", inVersion("v1alpha1"), { ...masters, body: cowboy("john") });
  const specOf = async (version: string, name: string) =>
    (await test.requestOk("GET", `${inVersion(version)}/${name}`, masters))["spec"];
  assert.deepEqual(await specOf("v1beta1", "john"), { wish: "ride" });
  assert.deepEqual(await specOf("v1alpha1", "john"), { intent: "ride" });
  const jane = { ...cowboy("jane", { wish: "rest" }), apiVersion: "wildwest.dev/v1beta1" };
  await test.requestOk("POST", inVersion("v1beta1"), { ...masters, body: jane });
  assert.deepEqual(await specOf("v1alpha1", "jane"), { intent: "rest" });
  const list = await test.requestOk("GET", inVersion("v1beta1"), masters);
  assert.deepEqual(
    list.items?.map((item) => item["spec"]),
    [{ wish: "rest" }, { wish: "ride" }],
  );
  const view = "/services/apiexport/provider/cowboys/clusters/*/apis/wildwest.dev/v1beta1/cowboys";
  const seen = await test.requestOk("GET", view, masters);
  assert.deepEqual(seen.items, list.items, "the provider sees the same");
  webhooks.respondWith("/convert", () => ({ code: 500, raw: {} }));
  await test.requestOk("POST", inVersion("v1alpha1"), { ...masters, body: cowboy("joe") });
  const refused = await test.get(`${inVersion("v1beta1")}/joe`, masters);
  assert.equal(refused.status, 500);
  assert.match(refused.text, /conversion webhook for wildwest.dev\/v1alpha1, Kind=Cowboy failed/);
  await test.close();
  await webhooks.close();
});
