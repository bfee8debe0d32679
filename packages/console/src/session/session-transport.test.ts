import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TransportRequest, TransportResponse } from "@kcp-ts/sdk/client";
import { SessionTransport } from "./session-transport.ts";

const request: TransportRequest = { method: "PUT", path: "/x", headers: {}, body: "b" };

/** A server that accepts requests while `accepts` is true. */
function transportOf(server: { accepts: boolean }, answers: readonly boolean[]) {
  const sent: TransportRequest[] = [];
  const waiting = [...answers];
  let expirations = 0;
  const send = async (one: TransportRequest): Promise<TransportResponse> => {
    sent.push(one);
    const text = server.accepts ? "done" : "no";
    const body = { text: async () => text, async *[Symbol.asyncIterator]() {} };
    return { status: server.accepts ? 200 : 401, headers: {}, body };
  };
  const transport = new SessionTransport(
    { send, close: async () => {} },
    {
      expired: () => {
        expirations++;
      },
      renewed: async () => {
        const answer = waiting.shift() ?? false;
        // After the first wait a login has made new credentials.
        if (expirations > 0) server.accepts = true;
        return answer;
      },
    },
  );
  return { transport, sent, expirations: () => expirations };
}

describe("a transport of a page whose user may have to log in again", () => {
  it("sends a request again that was refused before the same user came back", async () => {
    const { transport, sent, expirations } = transportOf({ accepts: false }, [true, true]);
    const { status, body } = await transport.send(request);
    assert.equal(status, 200);
    assert.equal(await body.text(), "done");
    assert.deepEqual(sent, [request, request]);
    assert.equal(expirations(), 1);
  });

  it("sends nothing in the name of another user", async () => {
    const { transport, sent } = transportOf({ accepts: false }, [true, false]);
    await assert.rejects(transport.send(request), { reason: "Unauthorized" });
    assert.equal(sent.length, 1);
  });

  it("sends nothing after a logout", async () => {
    const { transport, sent } = transportOf({ accepts: true }, [false]);
    await assert.rejects(transport.send(request), { reason: "Unauthorized" });
    assert.equal(sent.length, 0);
  });
});
