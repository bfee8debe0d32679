/**
 * A session of `exec` or `attach` over SPDY/3.1, as API servers open it to a kubelet: a stream for
 * each of stdin, stdout and stderr, one for the final Status, and one for the terminal's size.
 */
import type { Duplex } from "node:stream";
import { type CommandResult, statusOf } from "./simulated-command.ts";
import { runSpdySession, type SpdyStream } from "./spdy-session.ts";

/** In order of preference: only these protocols can transfer the exit status of a command. */
export const spdyCommandProtocols = ["v5.channel.k8s.io", "v4.channel.k8s.io"] as const;

export interface SpdyCommandOptions {
  readonly stream: Duplex;
  readonly result: CommandResult;
  /** Which of stdin, stdout and stderr the client opens. */
  readonly opens: readonly string[];
  readonly isTerminal: boolean;
}

export async function runSpdyCommand(options: SpdyCommandOptions): Promise<void> {
  const { stream, result, opens, isTerminal } = options;
  const opened = new Map<string, SpdyStream>();
  // A stream that the client opened after the end would never be closed.
  const awaited = ["error", ...opens];
  let isBegun = false;
  const finish = () => {
    const { stderr, exitCode } = result;
    if (stderr !== "" && !isTerminal) opened.get("stderr")?.write(Buffer.from(stderr));
    opened.get("error")?.write(Buffer.from(JSON.stringify(statusOf(exitCode))));
    for (const one of opened.values()) one.end();
  };
  const begin = () => {
    const [input, output] = [opened.get("stdin"), opened.get("stdout")];
    if (result.stdout !== "") output?.write(Buffer.from(result.stdout));
    if (input === undefined || !result.echoes) return finish();
    input.onEnd = finish;
    input.onData = (bytes) => {
      output?.write(bytes);
      // The end of a terminal's input is this control character (Ctrl-D).
      if (isTerminal && bytes.includes(4)) finish();
    };
  };
  await runSpdySession({
    stream,
    onStream: (one) => {
      opened.set(one.headers.get("streamtype") ?? "", one);
      // Input before the last stream is open is not buffered: the client waits for every reply.
      if (isBegun || awaited.some((name) => !opened.has(name))) return;
      isBegun = true;
      begin();
    },
  });
}
