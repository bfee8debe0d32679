/** Responses for people are indented, as JSON.stringify indents by two. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { TestServer } from "../testing/index.ts";

const configmaps = "/clusters/a/api/v1/namespaces/default/configmaps";
let server: TestServer;

before(async () => {
  server = await TestServer.start();
  for (let i = 0; i < 30; i++) {
    const data = { text: `{"a":[1,\n2]}\\"é${"x".repeat(i * 1000)}`, empty: "" };
    await server.requestOk("POST", configmaps, { body: { metadata: { name: `m-${i}` }, data } });
  }
  const large = { metadata: { name: "large" }, data: { a: '"],\\'.repeat(100_000) } };
  await server.requestOk("POST", configmaps, { body: large });
});
after(() => server.close());

async function isIndented(path: string, headers: Record<string, string> = {}): Promise<boolean> {
  const plain = await server.get(path, { headers: { ...headers, "user-agent": "kubectl" } });
  const { text } = await server.get(path, { headers });
  const indented = JSON.stringify(JSON.parse(text), undefined, 2);
  assert.deepEqual(JSON.parse(text), JSON.parse(plain.text));
  return text === indented;
}

describe("indented responses", () => {
  const people = ["curl/8.5.0", "Wget/1.21", "Mozilla/5.0 (X11; Linux x86_64)"];
  for (const agent of people)
    it(`are sent to ${agent}`, async () => {
      assert.equal(await isIndented(`${configmaps}/m-1`, { "user-agent": agent }), true);
    });

  for (const path of [
    `${configmaps}/m-0`,
    `${configmaps}/large`,
    configmaps,
    `${configmaps}?limit=2`,
    `${configmaps}/missing`,
    "/apis",
    "/version",
  ])
    it(`are sent on request: ${path}`, async () => {
      const asked = `${path}${path.includes("?") ? "&" : "?"}pretty=true`;
      assert.equal(await isIndented(asked), true);
    });

  it("can be requested with the media type", async () => {
    assert.equal(
      await isIndented(`${configmaps}/m-0`, { accept: "application/json;pretty=1" }),
      true,
    );
  });

  it("are not sent to other clients, nor to people who disable them", async () => {
    assert.equal(await isIndented(`${configmaps}/m-0`, { "user-agent": "kubectl/v1.36" }), false);
    const agent = { "user-agent": "curl/8.5.0" };
    assert.equal(await isIndented(`${configmaps}/m-0?pretty=false`, agent), false);
    assert.equal(await isIndented(`${configmaps}/m-0?pretty=0`, agent), false);
  });

  it("are not sent as events of a watch, which has one per line, nor as YAML", async () => {
    const headers = { "user-agent": "curl/8.5.0" };
    const watch = await server.watch(`${configmaps}?watch=1&fieldSelector=metadata.name=m-0`, {
      headers,
    });
    const event = await watch.next();
    assert.equal(event?.type, "ADDED");
    await watch.leave();
    const yaml = await server.get(`${configmaps}/m-0`, {
      headers: { ...headers, accept: "application/yaml" },
    });
    assert.match(yaml.text, /^kind: ConfigMap\n/);
  });

  it("are also sent to writes", async () => {
    const { text } = await server.request("POST", `${configmaps}?pretty=1`, {
      body: { metadata: { name: "written" } },
    });
    assert.match(text, /^\{\n {2}"kind": "ConfigMap",\n/);
  });
});
