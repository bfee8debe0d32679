/**
 * A session of `exec` or `attach` over SPDY/3.1, as API servers open one to a kubelet: a stream for each of stdin, stdout and stderr, one that
 * takes the Status at the end, and one for the terminal's size.
 */
import type { Duplex } from "node:stream";
import { type CommandResult, statusOf } from "./pretend-command.ts";
import { runSpdySession, type SpdyStream } from "./spdy-session.ts";

/** In the order in which we like them: only these can say how a command ended. */
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
  // A stream that came after the end would never be ended.
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
      // A terminal has no end of its input but this sign.
      if (isTerminal && bytes.includes(4)) finish();
    };
  };
  await runSpdySession({
    stream,
    onStream: (one) => {
      opened.set(one.headers.get("streamtype") ?? "", one);
      // What is typed before the last stream is there is kept by nobody: the other side waits for every answer.
      if (isBegun || awaited.some((name) => !opened.has(name))) return;
      isBegun = true;
      begin();
    },
  });
}
