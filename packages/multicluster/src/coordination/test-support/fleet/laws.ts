/** What must hold whatever happens, kind by kind; in the world as it is, and not as it is reported. */
import assert from "node:assert/strict";
import { softFinalizersOf } from "../../../api/index.ts";
import { moveRecordOf } from "../../move-record.ts";
import { askedReplicasAnnotation } from "../../part.ts";
import { placementOf } from "../../placement.ts";
import { budgetOf, rolloutOf } from "../../rollout.ts";
import type { Workload } from "../../workload.ts";
import { NumberedCopy, ScheduleCopy, startOf, WorkCopy } from "./copies.ts";
import type { Fleet } from "./fleet.ts";
import { clusterOf, type Seen, type Whole } from "./whole.ts";

/** After every step of the world. */
export function afterStep(fleet: Fleet, whole: Whole): void {
  const { law } = whole.kind;
  if (law === "numbered") checkNumbers(fleet, whole);
  if (!whole.isOnce) return;
  const copies = fleet.copiesOf(whole);
  if (law === "single") {
    const keepers = copies.filter(([, copy]) => copy instanceof ScheduleCopy && copy.keeps);
    assert.ok(keepers.length <= 1, `${whole.name} is kept by ${names(keepers)}`);
  } else if (law === "divided") {
    const running = copies.reduce((sum, [, copy]) => sum + copy.running, 0);
    const asked = askedOfLate(fleet, whole);
    assert.ok(running <= asked, `${running} of ${whole.name} run, ${asked} are asked for`);
  }
}

/** Who asks for fewer is served a little later: clusters hear of it late, and one that is cut off when its lease is over. */
const lateMs = 120_000;

function askedOfLate({ nowMs }: Fleet, whole: Whole): number {
  const { askedAtMs } = whole;
  askedAtMs.set(whole.asked(), nowMs);
  for (const [asked, atMs] of askedAtMs) if (atMs < nowMs - lateMs) askedAtMs.delete(asked);
  return Math.max(...askedAtMs.keys());
}

function names(copies: readonly (readonly [string, unknown])[]): string {
  return copies.map(([cluster]) => cluster).join(" and ");
}

function askedBefore({ metadata }: Workload): number {
  return Number(metadata.annotations?.[askedReplicasAnnotation] ?? 0);
}

/** No number in two clusters; with claims, only where its claim is. */
function checkNumbers(fleet: Fleet, whole: Whole): void {
  const found = new Map<number, string>();
  for (const [cluster, copy] of fleet.copiesOf(whole)) {
    if (!(copy instanceof NumberedCopy)) continue;
    for (const number of copy.numbers.keys()) {
      const other = found.get(number);
      const text = `${number} of ${whole.name} runs in ${other} and ${cluster}`;
      assert.equal(other, undefined, text);
      found.set(number, cluster);
      if (whole.kind.hasClaims !== true) continue;
      const home = whole.claims.get(number)?.home;
      assert.equal(
        home,
        cluster,
        `${number} of ${whole.name} runs in ${cluster}, its claim is in ${home}`,
      );
    }
  }
}

/** Before a part is made: what is in one place only is nowhere else that can be seen. */
export function beforeCreation(fleet: Fleet, whole: Whole, made: Workload): void {
  if (whole.kind.law === "ending" && whole.isOnce) {
    const running = fleet
      .copiesOf(whole)
      .filter(([name, copy]) => fleet.judgement(name).standing === "lost" && copy.running > 0);
    assert.equal(names(running), "", `${whole.name} is begun though it may run in a lost cluster`);
  }
  if (whole.kind.law !== "single") return;
  const others = [...whole.parts.values()].filter(
    (part) => fleet.judgement(clusterOf(part)).standing !== "lost",
  );
  const where = others.map(clusterOf).join(", ");
  assert.equal(where, "", `${whole.name} is started in ${clusterOf(made)} beside ${where}`);
}

/** A write that may take something away. */
export function checkedCut(
  fleet: Fleet,
  whole: Whole,
  part: Workload,
  seen: Seen,
  cut: () => void,
): void {
  const before = whole.parts.get(part.metadata.name);
  assert.ok(before !== undefined);
  const cluster = clusterOf(before);
  const asked = Math.min(whole.asked(), whole.asked(seen.parent));
  const ready = reliablyReady(fleet, whole);
  const reported = reportedReady(fleet, whole, seen);
  cut();
  const after = whole.parts.get(part.metadata.name);
  const isRemoved = after === undefined || after.metadata.deletionTimestamp !== undefined;
  const share = (one: Workload) => whole.kind.strategy.shareOf(one).replicas;
  const isLess = isRemoved || share(after) < share(before);
  if (!isLess) return;
  const standing = fleet.judgement(cluster).standing;
  checkHold(before, cluster, standing);
  if (whole.kind.law === "ending") {
    // What a lost cluster's agent has stopped is so already.
    if (!(whole.isOnce && standing === "lost")) checkWork(fleet, whole, before);
    return;
  }
  checkLastCopy(fleet, whole, before, isRemoved ? 0 : share(after as Workload), asked);
  if (isRemoved) checkMayGo(fleet, whole, cluster);
  // What a lost cluster's agent has stopped is so already.
  if (whole.kind.law === "numbered" && standing !== "lost")
    checkRange(whole, before, isRemoved ? undefined : after);
  const isScaled = seen.parts.some((one) => askedBefore(one) > asked);
  if (whole.isOnce || isScaled || isMisled(fleet, whole) || wasWritten(whole, seen, part)) return;
  const isGivenUp = moveRecordOf(before.metadata.annotations) !== undefined;
  if (isGivenUp) return;
  // What had not been heard to be ready is not missed.
  const floor = Math.min(leastOf(whole, asked, seen), ready, reported);
  const left = reliablyReady(fleet, whole);
  assert.ok(
    left >= floor,
    `${left} of ${whole.name} are ready after a cut in ${cluster}, ${ready} before it, ${asked} asked for`,
  );
}

/** What may be ready at least: numbers leave one at a time. */
function leastOf(whole: Whole, asked: number, seen: Seen): number {
  const { law } = whole.kind;
  if (law === "numbered") return asked - 1;
  if (law === "single" || law === "everywhere") return 0;
  const { unavailable } = budgetOf(rolloutOf(seen.parent.metadata.annotations), {}, asked);
  return Math.max(Math.min(1, asked), asked - unavailable);
}

/** A cluster that is trusted cannot be reached, or has lost what it last reported: nobody could know. */
function isMisled(fleet: Fleet, whole: Whole): boolean {
  const trusted = [...fleet.clusters].filter(([name]) => fleet.judgement(name).isTrusted);
  if (trusted.some(([, { isUp }]) => !isUp)) return true;
  const { strategy } = whole.kind;
  return trusted.some(([cluster]) =>
    whole.partsIn(cluster).some((part) => {
      const ready = fleet.copyOf(whole, part, cluster)?.ready(fleet.nowMs) ?? 0;
      return ready < Math.min(strategy.report(part).available, strategy.shareOf(part).replicas);
    }),
  );
}

/** Somebody else wrote another part since it was read. */
function wasWritten(whole: Whole, seen: Seen, { metadata }: Workload): boolean {
  return seen.parts.some(
    ({ metadata: { name, generation } }) =>
      name !== metadata.name && whole.parts.get(name)?.metadata.generation !== generation,
  );
}

function checkHold({ metadata }: Workload, cluster: string, standing: string): void {
  const holders = softFinalizersOf(metadata.annotations, cluster);
  const isOut = standing === "lost" || standing === "gone";
  assert.ok(isOut || holders.length === 0, `${metadata.name} is held by ${holders.join()}`);
}

/** Whoever is emptied leaves somebody behind who says that it has some. */
function checkLastCopy(fleet: Fleet, whole: Whole, before: Workload, left: number, asked: number) {
  const { strategy, law } = whole.kind;
  const has = (one: Workload) => strategy.report(one).available > 0;
  // What is never in two places, or may run once at most, breaks before it makes.
  const breaksFirst = whole.isOnce || law === "single" || law === "numbered";
  if (asked === 0 || left > 0 || breaksFirst || !has(before)) return;
  const others = [...whole.parts.values()].filter(
    (one) => one.metadata.name !== before.metadata.name,
  );
  const cluster = clusterOf(before);
  const isSeen = fleet.judgement(cluster).isTrusted;
  const isAnywhere = law === "everywhere" ? others.length > 0 : others.some(has);
  assert.ok(isAnywhere || !isSeen, `the last copy of ${whole.name}, in ${cluster}, is taken away`);
}

/** What cannot be seen is not removed, unless somebody wants the cluster empty; at most one: unless it has surely stopped. */
function checkMayGo(fleet: Fleet, whole: Whole, cluster: string): void {
  const target = fleet.targets.get(cluster);
  const isWanted =
    target !== undefined &&
    !target.isDeleting &&
    target.evictAfterMs === undefined &&
    target.drainSpec === undefined &&
    isSelected(whole, target.labels);
  const { standing } = fleet.judgement(cluster);
  assert.ok(
    !isWanted || whole.isOnce || standing !== "lost",
    `${cluster} is lost, and ${whole.name} removed there`,
  );
}

export function isSelected(whole: Whole, labels: Readonly<Record<string, string>>): boolean {
  return placementOf(whole.parent.metadata.annotations).selector?.matches(labels) !== false;
}

/** One number at a time, and none whose claim may not go. */
function checkRange(whole: Whole, before: Workload, after: Workload | undefined): void {
  const range = (one: Workload | undefined) => {
    const { replicas } = one === undefined ? { replicas: 0 } : whole.kind.strategy.shareOf(one);
    const start = startOf(one?.spec);
    return { start, end: start + replicas };
  };
  const [was, is, asked] = [range(before), range(after), whole.asked()];
  for (let number = was.start; number < Math.min(was.end, asked); number++) {
    if (number >= is.start && number < is.end) continue;
    const claim = whole.claims.get(number);
    const isKept = claim?.isRefused === true && claim.asked !== undefined;
    assert.ok(!isKept, `${number} of ${whole.name} is stopped though its claim may not go`);
  }
}

/** Nothing that can be seen is stopped before its end, unless all is done. */
function checkWork(fleet: Fleet, whole: Whole, before: Workload): void {
  const cluster = clusterOf(before);
  const copy = fleet.copyOf(whole, before, cluster);
  if (fleet.judgement(cluster).standing === "gone" || copy === undefined) return;
  const isDone = copy instanceof WorkCopy && copy.isComplete;
  const isSuperfluous = whole.asked() === 0;
  assert.ok(isDone || isSuperfluous, `${before.metadata.name} is taken away before its end`);
}

function reportedReady(fleet: Fleet, { kind: { strategy } }: Whole, { parts }: Seen): number {
  return parts
    .filter((part) => fleet.judgement(clusterOf(part)).isTrusted)
    .reduce((sum, part) => {
      const { available } = strategy.report(part);
      return sum + Math.min(available, strategy.shareOf(part).replicas);
    }, 0);
}

/** Ready, in clusters that can be relied on, had they what the API says now. */
export function reliablyReady(fleet: Fleet, whole: Whole): number {
  let ready = 0;
  for (const part of whole.parts.values()) {
    const cluster = clusterOf(part);
    const copy = fleet.copyOf(whole, part, cluster);
    if (copy === undefined || part.metadata.deletionTimestamp !== undefined) continue;
    if (!fleet.judgement(cluster).isTrusted) continue;
    ready += Math.min(copy.ready(fleet.nowMs), whole.kind.strategy.shareOf(part).replicas);
  }
  return ready;
}
