/** The state machine against a scripted stream; no etcd. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import type { Revision } from "../revision.ts";
import { ProgressRequester } from "./progress-requester.ts";

describe("progress requests", () => {
  it("a progress request while another is in flight is sent again after the response", () => {
    const { asker, stream, sent } = open({ trusted: true });
    asker.attach(stream);
    asker.request();
    asker.request();
    asker.request();
    assert.equal(sent.requests, 1);
    asker.onProgress();
    assert.equal(sent.requests, 2);
    asker.onProgress();
    assert.equal(sent.requests, 2);
    asker.detach();
  });

  it("a progress request without a response before the stream broke is sent on the next stream", () => {
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

  it("a progress request that is dropped is repeated", async () => {
    const { asker, stream, sent } = open({ trusted: true });
    asker.attach({ ...stream, caughtUp: false });
    while (sent.requests < 3) await sleep(systemClock, 10);
    asker.detach();
  });

  it("no marker is written when events have reported the progress by then", async () => {
    const { asker, stream, sent, at } = open({ trusted: false });
    at.newest = 7;
    at.seen = 7;
    asker.attach({ ...stream, caughtUp: false });
    while (sent.told === 0) await sleep(systemClock, 5);
    assert.equal(sent.marks, 0);
    asker.detach();
  });

  it("an own marker counts as progress, and an older marker of another server does not", async () => {
    const { asker, stream, sent, at } = open({ trusted: false });
    at.newest = 9;
    at.seen = 7;
    asker.attach({ ...stream, caughtUp: false });
    while (sent.marks === 0) await sleep(systemClock, 5);
    asker.request();
    asker.onMarker(8 as Revision);
    await sleep(systemClock, 60);
    assert.equal(sent.marks, 1);
    at.seen = 10;
    asker.onMarker(10 as Revision);
    // The second request is sent now, and the watch has come far enough already.
    while (sent.told === 0) await sleep(systemClock, 5);
    assert.equal(sent.marks, 1);
    asker.detach();
  });

  it("a stream that has nothing to catch up with reports progress at once", () => {
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
    writeMarker: async () => {
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
    notifyProgress: () => {
      sent.told++;
    },
  };
  return { asker, stream, sent, at };
}
