/** Lists in every representation, unread watches, idle connections. */
import type { SeededRandom } from "@kcp-ts/testkit";
import {
  type Attack,
  anySize,
  get,
  metadataAccept,
  post,
  protobuf,
  tableAccept,
  times,
} from "./attack.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";

const configMap = (name: string, data: object, labels: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, labels },
  data,
});

function anyData(random: SeededRandom): object {
  const count = anySize(random, 9000);
  const each = Math.floor(900_000 / count);
  return Object.fromEntries(
    times(count, (i) => [`k${i}`, random.pick(["a", "\\n- ", "é", '"']).repeat(each >> 2)]),
  );
}

const lists: Attack = {
  name: "lists in every representation",
  *steps({ random }) {
    const count = 2 + random.integer(12);
    for (let i = 0; i < count; i++) {
      yield post(configMaps, configMap(`c${i}`, anyData(random), { i: String(i) }));
    }
    const values = times(anySize(random, 4000), (i) => `v${i}`).join();
    for (const accept of ["application/yaml", protobuf, tableAccept, metadataAccept, "*/*"]) {
      yield get(configMaps, accept);
      yield get(`${configMaps}?limit=${1 + random.integer(3)}`, accept);
    }
    yield get(`${configMaps}?labelSelector=${encodeURIComponent(`i in (${values})`)}`);
    yield get(
      `${configMaps}?labelSelector=${encodeURIComponent(times(anySize(random, 3000), (i) => `k${i}!=v`).join())}`,
    );
    yield get(`${configMaps}?fieldSelector=${encodeURIComponent("metadata.name!=a,".repeat(200))}`);
    yield { method: "DELETE", path: configMaps };
  },
};

const watches: Attack = {
  name: "unread watches",
  *steps({ random }) {
    const count = 20 + random.integer(150);
    for (let i = 0; i < count; i++) {
      yield {
        ...get(
          `${configMaps}?watch=true&timeoutSeconds=30`,
          random.pick([tableAccept, "application/json", "application/yaml", protobuf]),
        ),
        isUnread: true,
      };
    }
    for (let i = 0; i < 4; i++) yield post(configMaps, configMap(`c${i}`, anyData(random)));
    yield { method: "DELETE", path: configMaps };
  },
};

const heads: Attack = {
  name: "HEAD, OPTIONS and watches that end at once",
  *steps({ random }) {
    for (let i = 0; i < 10 + random.integer(30); i++) {
      yield { method: "HEAD", path: `${configMaps}?watch=true` };
      yield { method: "HEAD", path: random.pick(["/openapi/v2", "/apis", configMaps]) };
    }
  },
};

const connections: Attack = {
  name: "idle connections",
  *steps({ random, connections: open }) {
    open.open(20 + random.integer(300));
    open.open(random.integer(100), { isPlain: true });
    open.open(random.integer(50), { text: "GET / HTTP/1.1\r\nhost: x\r\n" });
    open.open(random.integer(50), { text: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" });
    for (let i = 0; i < 5; i++) yield get(configMaps);
  },
};

export const readAttacks: readonly Attack[] = [lists, watches, heads, connections];
