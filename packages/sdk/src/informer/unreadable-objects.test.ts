/**
 * Goal: an object that cannot be parsed is left out and reported, and all objects around it are
 * followed as if it did not exist.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  Client,
  defineResource,
  responseBody,
  type Transport,
  type TransportRequest,
} from "../client/index.ts";
import { MetricsRegistry } from "../metrics/index.ts";
import { Informer } from "./informer.ts";
import { formatKey } from "./object-key.ts";
import { StorelessInformer } from "./storeless-informer.ts";
import { metadataOnly } from "./transforms.ts";

const widgets = defineResource({
  group: "example.com",
  version: "v1",
  resource: "widgets",
  kind: "Widget",
  namespaced: true,
});

const good = (name: string) =>
  `{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"${name}","namespace":"default","uid":"u-${name}","resourceVersion":"3","annotations":{"kcp.io/cluster":"a"}}}`;
/** Each is delimited as an object or a line, and none can be parsed. */
const bad = [
  '{"kind":"Widget","metadata":{"resourceVersion":"3",}}',
  '{"0":{"metadata":{}},"kind":"Widget"}',
  '{"kind":"Widget","metadata":[]}',
  '{"kind":"Widget","metadata":{"name":"lost","resourceVersion":"3"}}',
  '{"kind":"Widget","metadata":{"name":"lost","annotations":{"kcp.io/cluster":"A/../b"}}}',
  '{"kind":"Widget","metadata":{"annotations":{"kcp.io/cluster":"a"},"resourceVersion":"3"}}',
  '{"kind":"Widget","metadata":{"name":tru}}',
];
const objects = [good("one"), ...bad, good("two")];

/** Lists by pages, or streams the state; then keeps a watch open. */
function serverOf(watchList: boolean): Transport {
  const event = (object: string, type = "ADDED") => `{"type":"${type}","object":${object}}\n`;
  const end =
    '{"metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}';
  const answer = ({ path, signal }: TransportRequest) => {
    if (!path.includes("watch=true"))
      return responseBody(
        `{"kind":"WidgetList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"9"},"items":[${objects.join(",")}]}`,
      );
    const lines = watchList
      ? [...objects.map((one) => event(one)), event(end, "BOOKMARK")]
      : bad.map((one) => event(one, "MODIFIED"));
    lines.push(event(good("three")));
    return responseBody(streamed(lines, signal));
  };
  return {
    send: async (request) => ({ status: 200, headers: {}, body: answer(request) }),
    close: async () => {},
  };
}

async function* streamed(lines: readonly string[], signal: AbortSignal | undefined) {
  for (const line of lines) yield Buffer.from(line);
  if (signal?.aborted !== true)
    await new Promise<void>((resolve) =>
      signal?.addEventListener("abort", () => resolve(), { once: true }),
    );
}

describe("objects that cannot be read", () => {
  for (const watchList of [true, false]) {
    const how = watchList ? "a stream" : "pages and a watch";
    it(`are left out of the events that a handler receives by ${how}`, async () => {
      const told: string[] = [];
      const errors: unknown[] = [];
      const metrics = new MetricsRegistry();
      const stop = new AbortController();
      const follower = new StorelessInformer({
        resource: widgets,
        scope: "all-clusters",
        watchList,
        metrics,
        client: new Client({ transport: serverOf(watchList) }),
        onError: (error) => void errors.push(error),
        handler: {
          observed: (_, { key }) => {
            told.push(formatKey(key));
            if (key.name === "three") stop.abort();
          },
        },
      });
      await follower.run(stop.signal);
      assert.deepEqual(told, ["a|default/one", "a|default/two", "a|default/three"]);
      assert.equal(errors.length, watchList ? bad.length : 2 * bad.length, errors.join("\n"));
      assert.match(
        metrics.text(),
        new RegExp(`reflector_unreadable_objects_total\\{[^}]*\\} ${errors.length}\n`),
      );
    });

    for (const transform of [metadataOnly, undefined]) {
      const what = transform === undefined ? "whole objects" : "metadata";
      it(`are left out of an informer of ${what} that is filled by ${how}`, async () => {
        const stop = new AbortController();
        const errors: unknown[] = [];
        const informer = new Informer({
          resource: widgets,
          scope: "all-clusters",
          watchList,
          transform,
          client: new Client({ transport: serverOf(watchList) }),
          onError: (error) => void errors.push(error),
        });
        informer.addHandler({
          added: (_, { key }) => {
            if (key.name === "three") stop.abort();
          },
        });
        await informer.run(stop.signal);
        assert.deepEqual([...informer.store.entries()].map(([key]) => key.name).sort(), [
          ...["one", "three", "two"],
        ]);
        assert.ok(errors.length >= bad.length, errors.join("\n"));
      });
    }
  }
});
