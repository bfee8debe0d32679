/** The state machine against a scripted stream; no etcd. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import type { Revision } from "../revision.ts";
import { ProgressRequester } from "./progress-asker.ts";

describe("asking for progress", () => {
  it("a request while one is under way is made again after the answer", () => {
    const { asker, stream, sent } = open({ trusted: true });
    asker.attach(stream);
    asker.request();
    asker.request();
    asker.request();
    assert.equal(sent.requests, 1);
    asker.answered();
    assert.equal(sent.requests, 2);
    asker.answered();
    assert.equal(sent.requests, 2);
    asker.detach();
  });

  it("a request that got no answer before the stream broke is made on the next one", () => {
    const { asker, stream, sent } = open({ trusted: true });
    asker.attach(stream);
    asker.request();
    asker.detach();
    assert.equal(asker.request(), false);
    asker.attach(stream);
    assert.equal(sent.requests, 2);
    assert.equal(asker.request(), true);
    asker.detach();
  });

  it("a request that is dropped is repeated", async () => {
    const { asker, stream, sent } = open({ trusted: true });
    asker.attach({ ...stream, caughtUp: false });
    while (sent.requests < 3) await sleep(systemClock, 10);
    asker.detach();
  });

  it("no mark is written when the events have told by then", async () => {
    const { asker, stream, sent, at } = open({ trusted: false });
    at.newest = 7;
    at.seen = 7;
    asker.attach({ ...stream, caughtUp: false });
    while (sent.told === 0) await sleep(systemClock, 5);
    assert.equal(sent.marks, 0);
    asker.detach();
  });

  it("a mark answers, and somebody else's older one does not", async () => {
    const { asker, stream, sent, at } = open({ trusted: false });
    at.newest = 9;
    at.seen = 7;
    asker.attach({ ...stream, caughtUp: false });
    while (sent.marks === 0) await sleep(systemClock, 5);
    asker.request();
    asker.sawMark(8 as Revision);
    await sleep(systemClock, 60);
    assert.equal(sent.marks, 1);
    at.seen = 10;
    asker.sawMark(10 as Revision);
    // The second request is made now, and finds that the watch has come far enough.
    while (sent.told === 0) await sleep(systemClock, 5);
    assert.equal(sent.marks, 1);
    asker.detach();
  });

  it("a stream that has nothing to catch up with says so at once", () => {
    const { asker, stream, sent } = open({ trusted: true });
    asker.attach(stream);
    assert.deepEqual([sent.told, sent.requests], [1, 0]);
    asker.detach();
  });
});

function open({ trusted }: { trusted: boolean }) {
  const at = { seen: 0, newest: 0 };
  const sent = { requests: 0, marks: 0, told: 0 };
  const asker = new ProgressRequester({
    clock: systemClock,
    currentRevision: async () => at.newest as Revision,
    writeMark: async () => {
      sent.marks++;
      at.newest++;
      return at.newest as Revision;
    },
  });
  const stream = {
    trusted,
    caughtUp: true,
    sendProgressRequest: () => {
      sent.requests++;
    },
    seen: () => at.seen as Revision,
    tell: () => {
      sent.told++;
    },
  };
  return { asker, stream, sent, at };
}
