/** Sends the requests of one hostile tenant over HTTP/2, as any client would. */
import { type ClientHttp2Session, connect } from "node:http2";
import { systemClock } from "@kcp-ts/machinery/base";
import type { Step, StepResponse } from "./attack.ts";

/** A response that takes longer is given up. */
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

  async send(step: Step): Promise<StepResponse> {
    const copies = Array.from({ length: step.copies ?? 1 }, () => this.#sendOne(step));
    return (await Promise.all(copies))[0] as StepResponse;
  }

  #sendOne(step: Step): Promise<StepResponse> {
    const { method, path, body, contentType, accept = "application/json", headers = {} } = step;
    const staysOpen = step.isUnread === true || step.isWatched === true;
    return new Promise((resolve) => {
      let status = 0;
      let text = "";
      const stream = this.#session.request({
        authorization: `Bearer ${this.#token}`,
        ...headers,
        ":method": method,
        ":path": step.isFromRoot === true ? path : this.#base + path,
        accept,
        ...(body === undefined ? {} : { "content-type": contentType ?? "application/json" }),
      });
      const done = () => resolve({ status, text });
      if (step.resetAfterMs !== undefined)
        systemClock.schedule(step.resetAfterMs, () => stream.destroy());
      stream.setTimeout(answerMsMax, () => stream.destroy());
      stream.on("error", done);
      stream.on("close", done);
      stream.on("response", (answer) => {
        status = Number(answer[":status"]);
        if (staysOpen) done();
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
