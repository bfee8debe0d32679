import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { TransportError } from "@kcp-ts/sdk";
import { FakeClock } from "@kcp-ts/testkit";
import { OutageReports } from "./outage-reports.ts";

const lost = new TransportError("connect", "cannot connect");

function reportedIn(reports: OutageReports, clock: FakeClock, seconds: number): number {
  let reported = 0;
  for (let second = 0; second < seconds; second++) {
    if (reports.take("syncer", lost)) reported += 1;
    clock.advance(1000);
  }
  return reported;
}

describe("reports of an outage", () => {
  it("a controller that fails every second for an hour reports the outage seldom", () => {
    const clock = new FakeClock();
    const reports = new OutageReports(clock);
    assert.equal(reportedIn(reports, clock, 90), 4);
    assert.ok(reportedIn(reports, clock, 3600) <= 14);
  });

  it("another outage, another controller and an error of another kind are reported", () => {
    const clock = new FakeClock();
    const reports = new OutageReports(clock);
    assert.equal(reportedIn(reports, clock, 5), 1);
    assert.ok(reports.take("tunnel", lost));
    assert.ok(reports.take("syncer", new Error("refused")));
    clock.advance(120_000);
    assert.ok(reports.take("syncer", lost));
  });
});
