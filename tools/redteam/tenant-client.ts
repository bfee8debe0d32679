/** Sends the requests of one hostile tenant over HTTP/2, as any client would. */
import { type ClientHttp2Session, connect } from "node:http2";
import type { Step } from "./attack.ts";

/** Answers are read up to here; a tenant that wants more waits for nobody. */
const answerMsMax = 70_000;

export class TenantClient {
  readonly #session: ClientHttp2Session;
  readonly #base: string;
  readonly #token: string;

  constructor(url: string, token: string) {
    const { origin, pathname } = new URL(url);
    this.#base = pathname;
    this.#token = token;
    this.#session = connect(origin, {
      rejectUnauthorized: false,
      settings: { initialWindowSize: 4 << 20 },
    });
    this.#session.on("error", () => undefined);
  }

  get isUsable(): boolean {
    return !this.#session.closed && !this.#session.destroyed;
  }

  /** The status and the beginning of the answer; 0 when there was none. */
  send(step: Step): Promise<{ readonly status: number; readonly text: string }> {
    const { method, path, body, contentType, accept = "application/json", headers = {} } = step;
    return new Promise((resolve) => {
      let status = 0;
      let text = "";
      const stream = this.#session.request({
        ...headers,
        ":method": method,
        ":path": this.#base + path,
        authorization: `Bearer ${this.#token}`,
        accept,
        ...(body === undefined ? {} : { "content-type": contentType ?? "application/json" }),
      });
      const done = () => resolve({ status, text });
      stream.setTimeout(answerMsMax, () => stream.destroy());
      stream.on("error", done);
      stream.on("close", done);
      stream.on("response", (answer) => {
        status = Number(answer[":status"]);
        if (step.isUnread === true) done();
      });
      if (step.isUnread !== true) {
        stream.on("data", (part: Buffer) => {
          if (text.length < 4096) text += part.toString("utf8", 0, 4096);
        });
        stream.on("end", done);
      }
      stream.end(body);
    });
  }

  close(): void {
    this.#session.destroy();
  }
}
