import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isStatusError } from "@kcp-ts/machinery/status";
import { Client, InProcessTransport, TransportError } from "@kcp-ts/sdk/client";
import { LogFollower } from "./log-follower.ts";
import { streamedLines } from "./streamed-lines.ts";

type Body = string | AsyncIterable<Uint8Array>;

function clientOf(answer: (path: string) => { status: number; body: Body }) {
  const asked: string[] = [];
  const transport = new InProcessTransport(({ path }) => {
    asked.push(path);
    return { headers: {}, ...answer(path) };
  });
  return { asked, client: new Client({ transport, basePath: "/clusters/root" }) };
}

async function* pieces(...texts: readonly string[]) {
  for (const text of texts) yield Buffer.from(text);
}

describe("lines of a response that goes on", () => {
  const read = async (status: number, body: Body) => {
    const { client } = clientOf(() => ({ status, body }));
    const lines: string[] = [];
    const { signal } = new AbortController();
    for await (const line of streamedLines(client, "/log", signal)) lines.push(line);
    return lines;
  };

  it("are whole, wherever the pieces are cut", async () => {
    const bytes = Buffer.from("é one\ntwo\nlast");
    async function* cut() {
      for (const byte of bytes) yield Uint8Array.of(byte);
    }
    assert.deepEqual(await read(200, cut()), ["é one", "two", "last"]);
  });

  it("have a limited length", async () => {
    const [line = ""] = await read(200, pieces("x".repeat(50_000), "y".repeat(50_000)));
    assert.equal(line.length, 16_384);
  });

  it("are not there when the server refuses: its words are", async () => {
    const status = { kind: "Status", reason: "Forbidden", message: "no logs for you", code: 403 };
    await assert.rejects(
      read(403, JSON.stringify(status)),
      (error) => isStatusError(error, "Forbidden") && error.message === "no logs for you",
    );
    await assert.rejects(read(501, "not here"), /answered 501: not here/);
  });
});

describe("logs that are followed", () => {
  const source = { namespace: "a", pod: "web", container: "c", title: "web" };
  const options = { tailLines: 5, isPrevious: false, hasTimestamps: false };
  const written = (answer: Parameters<typeof clientOf>[0]) => {
    const { client, asked } = clientOf(answer);
    let text = "";
    let onMore = () => {};
    const follower = new LogFollower(client, options, async (more) => {
      text += more;
      onMore();
    });
    const until = async (pattern: RegExp) => {
      while (!pattern.test(text))
        await new Promise<void>((resolve) => {
          onMore = resolve;
        });
      follower.stop();
      return text;
    };
    return { follower, asked, until };
  };

  it("go on behind their last line when the connection is lost", async () => {
    let requests = 0;
    async function* lost() {
      yield Buffer.from("2026-01-01T00:00:01Z one\n2026-01-01T00:00:02Z two\n");
      throw new TransportError("connection-lost", "the connection is lost");
    }
    const { follower, asked, until } = written(() => {
      if (++requests === 1) return { status: 200, body: lost() };
      const again = "2026-01-01T00:00:02Z two\n2026-01-01T00:00:03Z three\n";
      return { status: 200, body: pieces(again) };
    });
    follower.follow([source]);
    const text = await until(/the log ends/);
    assert.deepEqual(text.match(/one|two|three/g), ["one", "two", "three"]);
    assert.match(asked[0] ?? "", /tailLines=5/);
    assert.match(asked[1] ?? "", /sinceTime=2026-01-01T00%3A00%3A02Z/);
  });

  it("keep colours, and show other control characters as what they are not", async () => {
    const { follower, until } = written(() => ({
      status: 200,
      body: pieces("2026-01-01T00:00:01Z \x1b[31mred\x1b[0m \x1b[2J\x1b]0;x\x07\u202e\n"),
    }));
    follower.follow([source]);
    const text = await until(/the log ends/);
    assert.ok(text.includes("\x1b[31mred\x1b[0m \ufffd[2J\ufffd]0;x\ufffd\ufffd"));
  });

  it("that are forbidden are asked for once, and the reason is shown", async () => {
    const status = { kind: "Status", reason: "Forbidden", message: "no logs", code: 403 };
    const { follower, asked, until } = written(() => ({
      status: 403,
      body: JSON.stringify(status),
    }));
    follower.follow([source]);
    follower.follow([source]);
    await until(/web c: no logs/);
    assert.equal(asked.length, 1);
  });
});
