/**
 * A session of `exec` or `attach` over a WebSocket: the first byte of a message is its channel.
 *
 *     0 stdin   1 stdout   2 stderr   3 the final Status   4 the terminal's size   255 close (v5)
 */
import type { Duplex } from "node:stream";
import { WebSocketConnection } from "@kcp-ts/sdk/websocket";
import { type CommandResult, statusOf } from "./simulated-command.ts";

/** In order of preference. The older protocol cannot signal the end of stdin. */
export const channelProtocols = ["v5.channel.k8s.io", "v4.channel.k8s.io"] as const;

const channel = { stdin: 0, stdout: 1, stderr: 2, status: 3, close: 255 } as const;
const messageBytesMax = 1 << 20;

export interface ChannelSessionOptions {
  readonly stream: Duplex;
  readonly result: CommandResult;
  /** Whether the client sends stdin. */
  readonly hasStdin: boolean;
  /** A terminal has one stream for all output. */
  readonly isTerminal: boolean;
}

export function runChannelSession(options: ChannelSessionOptions): void {
  const { stream, result, hasStdin, isTerminal } = options;
  const say = (to: number, bytes: Uint8Array) => socket.send(Uint8Array.of(to), bytes);
  const finish = () => {
    const { stderr, exitCode } = result;
    if (stderr !== "" && !isTerminal) say(channel.stderr, Buffer.from(stderr));
    say(channel.status, Buffer.from(JSON.stringify(statusOf(exitCode))));
    socket.close();
  };
  const socket: WebSocketConnection = new WebSocketConnection({
    stream,
    role: "server",
    messageBytesMax,
    onMessage: (message) => {
      const [from, which] = message;
      if (from === channel.close && which === channel.stdin) finish();
      if (from !== channel.stdin || !result.echoes) return;
      const typed = message.subarray(1);
      // Backpressure: a client that does not read is not read from.
      if (typed.length > 0 && !say(channel.stdout, typed)) socket.pause();
      // The end of a terminal's input is this control character (Ctrl-D).
      if (isTerminal && typed.includes(4)) finish();
    },
    onDrain: () => socket.resume(),
    onClose: () => {},
  });
  if (result.stdout !== "") say(channel.stdout, Buffer.from(result.stdout));
  if (!result.echoes || !hasStdin) finish();
}
