/**
 * Ports of a simulated container. An HTTP request gets a page with the name of the Pod and the
 * port; all other bytes are echoed.
 */
import { Duplex } from "node:stream";
import { WebSocketConnection } from "@kcp-ts/sdk/websocket";
import { runSpdySession, type SpdyStream } from "./spdy-session.ts";

/** SPDY in a WebSocket, which kubectl requests first. */
export const tunnelledSpdy = "SPDY/3.1+portforward.k8s.io";

const messageBytesMax = 1 << 20;

export async function runPortSession(stream: Duplex, pod: string): Promise<void> {
  const errors = new Map<string, SpdyStream>();
  await runSpdySession({
    stream,
    onStream: (opened) => {
      const id = opened.headers.get("requestid") ?? "";
      const port = opened.headers.get("port") ?? "";
      if (opened.headers.get("streamtype") === "error") {
        errors.set(id, opened);
        return;
      }
      const finish = () => {
        opened.end();
        errors.get(id)?.end();
        errors.delete(id);
      };
      opened.onData = (bytes) => {
        if (!/^(GET|HEAD) /.test(bytes.toString("latin1", 0, 5))) {
          opened.write(bytes);
          return;
        }
        opened.write(Buffer.from(page(`simulated Pod ${pod}, port ${port}\n`)));
        finish();
      };
      opened.onEnd = finish;
    },
  });
}

function page(text: string): string {
  const head = ["HTTP/1.1 200 OK", "Content-Type: text/plain", `Content-Length: ${text.length}`];
  return `${[...head, "Connection: close"].join("\r\n")}\r\n\r\n${text}`;
}

/** The messages of a WebSocket as a stream of bytes. */
export function webSocketBytes(stream: Duplex): Duplex {
  const bytes: Duplex = new Duplex({
    read: () => socket.resume(),
    write(chunk: Buffer, _encoding, done) {
      socket.send(chunk);
      done();
    },
    final(done) {
      socket.close();
      done();
    },
    destroy(error, done) {
      socket.destroy();
      done(error);
    },
  });
  const socket: WebSocketConnection = new WebSocketConnection({
    stream,
    role: "server",
    messageBytesMax,
    onMessage: (message) => {
      if (!bytes.push(message)) socket.pause();
    },
    onClose: () => bytes.push(null),
  });
  return bytes;
}
