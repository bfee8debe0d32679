import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CommandSession, type CommandSocket } from "./command-session.ts";
import { sequenceOf } from "./keys.ts";
import { Screen } from "./screen.ts";

const key = (name: string, held: object = {}) => ({
  key: name,
  ctrlKey: false,
  altKey: false,
  metaKey: false,
  shiftKey: false,
  ...held,
});

describe("a screen", () => {
  const written = async (text: string) => {
    const screen = new Screen({ scrollbackMax: 100, isLog: true });
    await screen.write(text);
    return screen;
  };

  it("has spans of what looks the same", async () => {
    const screen = await written(
      "plain \x1b[1;31mred\x1b[0m \x1b[38;5;196mcube\x1b[48;2;1;2;3mrgb",
    );
    assert.deepEqual(screen.spans(0, false), [
      { text: "plain ", classes: "" },
      { text: "red", classes: "bold fg1" },
      { text: " ", classes: "" },
      { text: "cube", classes: "", color: "rgb(255 0 0)" },
      { text: "rgb", classes: "", color: "rgb(255 0 0)", background: "rgb(1 2 3)" },
    ]);
  });

  it("shows markup and control sequences of a container as text, or not at all", async () => {
    const screen = await written(
      "<img src=x>\x1b]0;title\x07\x1b]8;;javascript:x\x07link\x1b]8;;\x07",
    );
    assert.equal(screen.text(), "<img src=x>link");
  });

  it("keeps so many lines and no more", async () => {
    const lines = Array.from({ length: 1000 }, (_, at) => `line ${at}\n`).join("");
    const screen = await written(lines);
    const kept = screen.text().split("\n");
    assert.equal(kept.length, 100 + screen.rows - 1);
    assert.equal(kept.at(-1), "line 999");
  });
});

describe("keys of a terminal", () => {
  it("are sent as the sequences that programs expect", () => {
    assert.equal(sequenceOf(key("Enter"), false), "\r");
    assert.equal(sequenceOf(key("ArrowUp"), false), "\x1b[A");
    assert.equal(sequenceOf(key("ArrowUp"), true), "\x1bOA");
    assert.equal(sequenceOf(key("c", { ctrlKey: true }), false), "\x03");
    assert.equal(sequenceOf(key("x", { altKey: true }), false), "\x1bx");
  });

  it("leave text, copying, and the way out to the browser", () => {
    for (const one of [
      key("a"),
      key("Tab", { shiftKey: true }),
      key("C", { ctrlKey: true, shiftKey: true }),
      key("v", { metaKey: true }),
    ])
      assert.equal(sequenceOf(one, false), undefined, one.key);
  });
});

describe("a command in a container", () => {
  const start = () => {
    const sent: Uint8Array[] = [];
    const said: string[] = [];
    const socket = {
      readyState: 1,
      send: (bytes: Uint8Array) => sent.push(bytes),
      close: () => undefined,
    } as never as CommandSocket;
    const session = new CommandSession(socket, {
      onOpen: () => said.push("open"),
      onOutput: (bytes) => said.push(new TextDecoder().decode(bytes)),
      onEnd: (message) => said.push(message),
    });
    const receive = (to: number, text: string) =>
      socket.onmessage?.call(
        socket as never,
        { data: Uint8Array.of(to, ...Buffer.from(text)).buffer } as never,
      );
    return { session, socket, sent, said, receive };
  };

  it("sends what is typed and its size, and shows both outputs and the end", () => {
    const { session, socket, sent, said, receive } = start();
    socket.onopen?.call(socket as never, {} as never);
    session.send("é");
    session.resize(80, 24);
    assert.deepEqual(
      sent.map((bytes) => [bytes[0], new TextDecoder().decode(bytes.subarray(1))]),
      [
        [0, "é"],
        [4, '{"Width":80,"Height":24}'],
      ],
    );
    receive(1, "out");
    receive(2, "err");
    receive(3, '{"status":"Failure","message":"exit code 3"}');
    socket.onclose?.call(socket as never, {} as never);
    assert.deepEqual(said, ["open", "out", "err", "The command ended: exit code 3"]);
  });

  it("says what may be missing when the server refuses it", () => {
    const { socket, said } = start();
    socket.onclose?.call(socket as never, {} as never);
    assert.match(said[0] ?? "", /create pods\/exec/);
  });
});
