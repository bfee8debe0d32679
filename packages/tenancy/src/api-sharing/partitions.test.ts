/**
 * Goal: an APIExportEndpointSlice with a Partition lists this server's endpoint when its shard is
 * in the Partition, and reports an error when that is unknown.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { TestServer } from "../testing/index.ts";
import { apis, bind, offer, until } from "./test-support/cowboys.ts";

const masters = { user: "masters" } as const;
const topology = (cluster: string) => `/clusters/${cluster}/apis/topology.kcp.io/v1alpha1`;
const ourShard = "/clusters/root/apis/core.kcp.io/v1alpha1/shards/root";
const url = "https://kcp.example.com/services/apiexport/provider/cowboys";

interface SliceStatus {
  readonly endpoints?: readonly { readonly url: string }[];
  readonly shardSelector?: string;
  readonly conditions: readonly Record<string, string>[];
}

describe("an APIExportEndpointSlice with a Partition", () => {
  let test: TestServer;
  const slices = `${apis("where", "v1alpha1")}/apiexportendpointslices`;

  before(async () => {
    test = await TestServer.start();
    await test.server.bootstrap("https://kcp.example.com");
  });
  after(() => test.close());

  const status = async (name = "slice") =>
    ((await test.requestOk("GET", `${slices}/${name}`, masters))["status"] ?? {
      conditions: [],
    }) as unknown as SliceStatus;
  const says = (what: string, isSo: (told: SliceStatus) => boolean, name?: string) =>
    until(test, what, async () => isSo(await status(name)));
  const partitionValid = ({ conditions }: SliceStatus) =>
    conditions.find(({ type }) => type === "PartitionValid");
  const urls = ({ endpoints = [] }: SliceStatus) => endpoints.map((one) => one.url);
  const slice = (name: string, partition?: string) => ({
    metadata: { name },
    spec: { export: { path: "provider", name: "cowboys" }, ...(partition && { partition }) },
  });
  const label = (labels: object) =>
    test.patch(ourShard, "merge", { metadata: { labels } }, masters);

  it("of an export that does not exist is rejected", async () => {
    const answer = await test.request("POST", slices, { ...masters, body: slice("slice") });
    assert.equal(answer.status, 403);
    await offer(test, "provider");
    await test.requestOk("POST", slices, { ...masters, body: slice("slice") });
    await says("the export is valid", ({ conditions }) =>
      conditions.some(({ type, status: is }) => type === "APIExportValid" && is === "True"),
    );
  });

  it("that does not exist reports so, and lists nothing even when there are consumers", async () => {
    await bind(test, "consumer", "provider");
    await says("the endpoint is listed", (told) => urls(told).join() === url);
    await test.patch(`${slices}/slice`, "merge", { spec: { partition: "mine" } }, masters);
    await says("the partition is missing", (told) => {
      const condition = partitionValid(told);
      return (
        condition?.["status"] === "False" && condition["reason"] === "PartitionInvalidReference"
      );
    });
    const told = await status();
    assert.deepEqual(told.endpoints, []);
    assert.equal(told.shardSelector, undefined);
    assert.match(String(partitionValid(told)?.["message"]), /"mine" not found/);
  });

  it("lists the endpoint while the labels of the shard match the Partition", async () => {
    const spec = { selector: { matchLabels: { region: "eu" } } };
    const body = { metadata: { name: "mine" }, spec };
    await test.requestOk("POST", `${topology("where")}/partitions`, { ...masters, body });
    await says("the partition is valid", (told) => partitionValid(told)?.["status"] === "True");
    assert.deepEqual((await status()).endpoints, []);
    assert.equal((await status()).shardSelector, "region=eu");
    await label({ region: "eu" });
    await says("the endpoint is listed", (told) => urls(told).join() === url);
    await label({ region: "us" });
    await says("it is listed no more", (told) => urls(told).length === 0);
    const selector = {
      matchLabels: null,
      matchExpressions: [{ key: "region", operator: "Exists" }],
    };
    await test.patch(
      `${topology("where")}/partitions/mine`,
      "merge",
      { spec: { selector } },
      masters,
    );
    await says("it is listed again", (told) => urls(told).join() === url);
    assert.equal((await status()).shardSelector, "region");
  });

  it("with an invalid selector reports the reason, and lists nothing", async () => {
    const selector = { matchExpressions: [{ key: "region", operator: "Near" }] };
    await test.patch(
      `${topology("where")}/partitions/mine`,
      "merge",
      { spec: { selector } },
      masters,
    );
    await says(
      "the partition is of no use",
      (told) => partitionValid(told)?.["status"] === "False",
    );
    const told = await status();
    assert.match(
      String(partitionValid(told)?.["message"]),
      /"Near" is not a valid label selector operator/,
    );
    assert.deepEqual(told.endpoints, []);
  });

  it("without a selector covers all shards", async () => {
    await test.patch(
      `${topology("where")}/partitions/mine`,
      "merge",
      { spec: { selector: null } },
      masters,
    );
    await says("the endpoint is listed", (told) => urls(told).join() === url);
  });

  it("that was deleted lists nothing, and a slice without a Partition is unchanged", async () => {
    await test.requestOk("POST", slices, { ...masters, body: slice("whole") });
    await test.requestOk("DELETE", `${topology("where")}/partitions/mine`, masters);
    await says("it lists nothing", (told) => urls(told).length === 0);
    await says("the other one does", (told) => urls(told).join() === url, "whole");
  });

  it("does not refer to a Partition of another logical cluster", async () => {
    const body = { metadata: { name: "theirs" }, spec: {} };
    await test.requestOk("POST", `${topology("elsewhere")}/partitions`, { ...masters, body });
    await test.requestOk("POST", slices, { ...masters, body: slice("stranger", "theirs") });
    await says(
      "it is not found",
      (told) => partitionValid(told)?.["reason"] === "PartitionInvalidReference",
      "stranger",
    );
  });

  it("that a PartitionSet created works like any other", async () => {
    await label({ region: "eu" });
    const body = { metadata: { name: "set" }, spec: { dimensions: ["region"] } };
    await test.requestOk("POST", `${topology("where")}/partitionsets`, { ...masters, body });
    const partitions = async () =>
      (await test.requestOk("GET", `${topology("where")}/partitions`, masters)).items ?? [];
    await until(test, "there is one", async () => (await partitions()).length === 1);
    const [made] = await partitions();
    await test.requestOk("POST", slices, { ...masters, body: slice("set", made?.metadata.name) });
    await says("the endpoint is listed", (told) => urls(told).join() === url, "set");
  });

  it("selects the shards of an endpoint by either matchAll or a selector", async () => {
    const test = await TestServer.start();
    await offer(test, "a");
    const at = `${apis("a", "v1alpha1")}/apiexportendpointslices/cowboys`;
    const put = (shards: object) => {
      const status = { endpoints: [{ url: "https://example.com/x", shards }] };
      return test.patch(`${at}/status`, "merge", { status }, { user: "masters" });
    };
    const selector = { matchLabels: { region: "eu" } };
    for (const shards of [{ matchAll: true }, { selector }, {}])
      assert.equal((await put(shards)).status, 200);
    const { status, object } = await put({ matchAll: true, selector });
    assert.equal(status, 422);
    assert.match(object.message ?? "", /matchAll and selector are mutually exclusive/);
    await test.close();
  });
});
