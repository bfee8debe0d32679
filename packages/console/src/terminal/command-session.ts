/**
 * A command in a container, over a WebSocket: the first byte of a message is its channel.
 *
 *     0 stdin   1 stdout   2 stderr   3 the final Status   4 the terminal's size   255 close
 */
import { bounds, parseBounded } from "@kcp-ts/machinery/bounds";
import { isJsonObject } from "@kcp-ts/machinery/json";

export const commandProtocol = "v5.channel.k8s.io";

/** What of a browser's WebSocket is used. */
export type CommandSocket = Pick<
  WebSocket,
  "binaryType" | "send" | "close" | "readyState" | "onopen" | "onmessage" | "onclose"
>;

export interface CommandEvents {
  readonly onOpen: () => void;
  readonly onOutput: (bytes: Uint8Array) => void;
  /** Once: how the command ended, or why there was none. */
  readonly onEnd: (message: string) => void;
}

const channel = { stdin: 0, stdout: 1, stderr: 2, status: 3, size: 4 } as const;
const open = 1;

export class CommandSession {
  readonly #socket: CommandSocket;
  #end: string | undefined;

  constructor(socket: CommandSocket, events: CommandEvents) {
    this.#socket = socket;
    socket.binaryType = "arraybuffer";
    let hasOpened = false;
    socket.onopen = () => {
      hasOpened = true;
      events.onOpen();
    };
    socket.onmessage = ({ data }: MessageEvent) => {
      const bytes = new Uint8Array(data as ArrayBuffer);
      if (bytes[0] === channel.stdout || bytes[0] === channel.stderr)
        events.onOutput(bytes.subarray(1));
      else if (bytes[0] === channel.status) this.#end = statusText(bytes.subarray(1));
    };
    socket.onclose = () => {
      const lost = hasOpened
        ? "The connection was lost."
        : "The server refused the command. You may need the permission to create pods/exec here, and the container must run.";
      events.onEnd(this.#end ?? lost);
    };
  }

  send(text: string): void {
    this.#send(channel.stdin, new TextEncoder().encode(text));
  }

  resize(columns: number, rows: number): void {
    const size = JSON.stringify({ Width: columns, Height: rows });
    this.#send(channel.size, new TextEncoder().encode(size));
  }

  close(): void {
    this.#socket.close();
  }

  #send(to: number, bytes: Uint8Array): void {
    if (this.#socket.readyState !== open) return;
    const message = new Uint8Array(bytes.length + 1);
    message[0] = to;
    message.set(bytes, 1);
    this.#socket.send(message);
  }
}

function statusText(bytes: Uint8Array): string {
  const status = parseBounded(bounds.refusal, new TextDecoder().decode(bytes));
  if (!isJsonObject(status)) return "The command ended.";
  if (status["status"] === "Success") return "The command ended.";
  return `The command ended: ${String(status["message"] ?? "it failed")}`;
}
