/**
 * YAML that a worker thread parses: the result is the same as for short YAML, and the event loop is
 * not blocked meanwhile.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { install, TestServer } from "../testing/index.ts";
import { threadCpuMs } from "./thread-cpu-time.ts";
import { translateYaml } from "./translate-yaml.ts";
import { shortYamlBytes } from "./yaml-kinds.ts";

const core = "/clusters/a/api/v1/namespaces/default";
const configmaps = `${core}/configmaps`;
const toys = "/clusters/a/apis/example.com/v1/namespaces/default/toys";
const yaml = { "content-type": "application/yaml" };

let server: TestServer;
before(async () => {
  server = await TestServer.start();
  await install(server, toyDefinition);
});
after(() => server.close());

/** The same document, padded with comments until it counts as long. */
function lengthened(text: string): string {
  return `${text}${"# nothing\n".repeat(shortYamlBytes)}`;
}

const post = (path: string, body: string | Uint8Array, query = "") =>
  server.request("POST", `${path}${query}`, { headers: yaml, body });

describe("long YAML", () => {
  it("has the same result as short YAML: numbers, strings and anchors", async () => {
    const specs = [
      "{a: 0644, b: 1_000, c: 0b1, d: 0x1F, e: 1.50, f: -0.0, g: 1e3, h: 1e17, i: .5}",
      "{a: 9007199254740993, b: -9223372036854775808, c: 18446744073709551615, d: 1e999}",
      "{a: yes, b: 'yes', c: ~, d: 2001-01-01, e: 1:30, f: '', __proto__: p, '': x}",
      '{a: é, b: "\\u0000\\uD83D\\uDE00\\ud800", c: \'"\\\', d: [], e: {}, f: [[{}]]}',
      "\n  a: &a {x: 1, y: [1, 2]}\n  b: *a\n  c: {<<: *a, y: z}\n  d: |\n    two\n    lines\n",
    ];
    for (const [i, spec] of specs.entries()) {
      const text = (name: string) => `metadata: {name: ${name}-${i}}\nspec: ${spec}\n`;
      const short = await post(toys, text("short"));
      const long = await post(toys, lengthened(text("long")));
      assert.equal(short.status, 201, short.text);
      assert.equal(long.status, 201, long.text);
      assert.equal(specOf(long.text), specOf(short.text));
    }
  });

  it("keeps numbers that a double cannot represent", async () => {
    const text = "metadata: {name: exact}\nspec: {a: 9007199254740993}\n";
    assert.equal(specOf((await post(toys, lengthened(text))).text), '{"a":9007199254740993}');
  });

  it("with duplicate keys is rejected, warned of or accepted, as fieldValidation says", async () => {
    const text = "metadata: {name: twice}\ndata:\n  a: '1'\n  a: '2'\n";
    for (const body of [text, lengthened(text)]) {
      const strict = await post(configmaps, body, "?fieldValidation=Strict&dryRun=All");
      assert.equal(strict.status, 400);
      assert.equal(
        strict.object.message,
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: yaml: unmarshal errors:\n  line 4: key "a" already set in map',
      );
      const warned = await post(configmaps, body, "?fieldValidation=Warn&dryRun=All");
      assert.deepEqual(warned.warnings, ['299 - "line 4: key \\"a\\" already set in map"']);
      const ignored = await post(configmaps, body, "?fieldValidation=Ignore&dryRun=All");
      assert.deepEqual(ignored.warnings, []);
      for (const answer of [warned, ignored]) assert.deepEqual(answer.object.data, { a: "2" });
    }
  });

  it("that is invalid is rejected with the same message", async () => {
    const wrong = [
      ...["a: b: c\n", "\t- x\n", "a: !!js/function 'x'\n", "a: !!binary x\n", "a: .inf\n"],
      ...["--- {}\n--- {}\n", "- a list\n- not an object\n", "a: *nobody\n", "{}: 1\n", "a: '\n"],
    ];
    for (const start of wrong) {
      // Slightly longer than the excerpt in the message.
      const text = `${start}${" ".repeat(40)}\n`;
      const short = await post(configmaps, text);
      const long = await post(configmaps, lengthened(text));
      assert.equal(short.status, 400, short.text);
      // For an unterminated string, the message contains the position at which it would have to
      // end.
      const withoutPlace = (message = "") => message.replace(/\(\d+:\d+\)/, "");
      assert.equal(withoutPlace(long.object.message), withoutPlace(short.object.message));
    }
    const named = await post(configmaps, `a: *${"nobody".repeat(100_000)}\n`);
    assert.equal(named.status, 400);
    assert.ok(named.text.length < 5000, "the refusal is short");
    const bytes = Buffer.concat([Buffer.from([0xff]), Buffer.from(lengthened("a: b\n"))]);
    const { status, object } = await post(configmaps, bytes);
    assert.deepEqual([status, object.message], [400, "the body of the request is not valid UTF-8"]);
  });

  it("may contain as many values as JSON, and no more", async () => {
    const list = (count: number) => `metadata: {name: many}\nspec: {l: [${"1,".repeat(count)}]}\n`;
    const { status, object } = await post(toys, list(100_000));
    assert.equal(status, 413);
    assert.equal(object.message, "Request entity too large: limit is 100000 values");
    assert.equal((await post(toys, list(50_000))).status, 201);
  });

  it("must not be longer as JSON than a body may be, whatever its aliases expand to", async () => {
    const text = `a: &a ${"x".repeat(200_000)}\nb: [${"*a,".repeat(900)}]\n`;
    const { status, object } = await post(configmaps, text);
    assert.equal(status, 400);
    assert.match(object.message ?? "", /the document expands to too many characters/);
  });

  it("is accepted by other handlers, too: apply, subresources, DeleteOptions", async () => {
    const apply = (body: string) =>
      server.request("PATCH", `${configmaps}/applied?fieldManager=me`, {
        headers: { "content-type": "application/apply-patch+yaml" },
        body,
      });
    const head = "apiVersion: v1\nkind: ConfigMap\n";
    const applied = await apply(lengthened(`${head}data: {a: '1'}\n`));
    assert.equal(applied.status, 201, applied.text);
    assert.deepEqual(applied.object.data, { a: "1" });
    const wrong = await apply(lengthened("a: b: c\n"));
    assert.match(wrong.object.message ?? "", /^error decoding YAML: /);
    const json = await apply(JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", data: {} }));
    assert.equal(json.status, 200, json.text);

    const scale = lengthened("metadata: {name: scaled}\nspec: {replicas: 3}\n");
    await server.requestOk("POST", toys, { body: { metadata: { name: "scaled" }, spec: {} } });
    const scaled = await server.request("PUT", `${toys}/scaled/scale`, {
      headers: yaml,
      body: scale,
    });
    assert.equal(scaled.status, 200, scaled.text);
    assert.deepEqual(scaled.object["spec"], { replicas: 3 });

    const path = `${configmaps}/applied`;
    const options = lengthened("preconditions: {uid: another}\n");
    const kept = await server.request("DELETE", path, { headers: yaml, body: options });
    assert.equal(kept.status, 409, kept.text);
    const none = lengthened("kind: DeleteOptions\n");
    const deleted = await server.request("DELETE", path, { headers: yaml, body: none });
    assert.equal(deleted.status, 200, deleted.text);
  });
});

describe("the worker thread for long YAML", () => {
  /** Duplicate keys take longest. */
  const dense = (name: string, bytes: number) =>
    `metadata: {name: ${name}}\ndata: {${"a: b,".repeat(bytes / 5)}}\n`;

  it("does not block the event loop", async () => {
    const text = dense("dense", 300 << 10);
    // Compiled code is faster.
    const readingMs = Math.min(...[1, 2, 3].map(() => spentOn(() => translateYaml(text))));
    const turns = longestTurn();
    const { status } = await post(configmaps, text, "?fieldValidation=Ignore");
    const longestMs = turns.stop();
    assert.equal(status, 201);
    assert.ok(longestMs < readingMs / 2, `${longestMs} ms of ${readingMs} in one turn`);
  });

  it("parses for the logical clusters in round robin", async () => {
    const done: string[] = [];
    const send = async (cluster: string, name: string) => {
      const path = `/clusters/${cluster}/api/v1/namespaces/default/configmaps`;
      const { status, text } = await post(path, dense(name, 100 << 10), "?fieldValidation=Ignore");
      assert.equal(status, 201, text);
      done.push(cluster);
    };
    const ofA = Array.from({ length: 8 }, (_, i) => send("a", `turn-${i}`));
    await Promise.all([...ofA, send("b", "turn")]);
    assert.ok(done.indexOf("b") < 5, done.join());
  });

  it("does not parse for clients that disconnect before their turn", async () => {
    const leaving = new AbortController();
    const first = post(configmaps, dense("first", 256 << 10), "?fieldValidation=Ignore");
    const left = server.request("POST", configmaps, {
      headers: yaml,
      body: dense("left", 256 << 10),
      signal: leaving.signal,
    });
    leaving.abort();
    assert.equal((await left).status, 499);
    assert.equal((await first).status, 201);
    assert.equal((await server.get(`${configmaps}/left`)).status, 404);
  });

  it("is terminated by a text that takes too much memory, and replaced for the next text", async () => {
    const bomb = "? ? ? ? ? ? ?\n".repeat((3 << 20) / 14);
    const refused = await post(configmaps, bomb);
    assert.equal(refused.status, 413, refused.text);
    assert.equal(
      refused.object.message,
      "Request entity too large: reading it as YAML takes too much memory, send JSON",
    );
    const next = await post(configmaps, lengthened("metadata: {name: next}\n"));
    assert.equal(next.status, 201, next.text);
  });
});

/**
 * The CPU time of this thread, which is the first one; the clock's time where the system does not
 * provide it.
 */
function loopMs(): number {
  return threadCpuMs(process.pid) ?? performance.now();
}

function spentOn(work: () => unknown): number {
  const before = loopMs();
  work();
  return loopMs() - before;
}

/** Measures the duration of every turn of the event loop. */
function longestTurn(): { stop(): number } {
  let longest = 0;
  let last = loopMs();
  let isOver = false;
  const look = () => {
    const now = loopMs();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  return {
    stop: () => {
      isOver = true;
      look();
      return longest;
    },
  };
}

function specOf(text: string): string {
  return /"spec":(\{.*\})\}\n?$/s.exec(text)?.[1] ?? text;
}

const toyDefinition = {
  metadata: { name: "toys.example.com" },
  spec: {
    group: "example.com",
    names: { plural: "toys", kind: "Toy" },
    scope: "Namespaced",
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
              status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
            },
          },
        },
        subresources: {
          scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
        },
      },
    ],
  },
};
