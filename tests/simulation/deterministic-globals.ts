/**
 * Replaces the sources of time and chance that the program does not take as an option, for the
 * whole process. This module is imported before any module of the program, and imports none.
 *
 * The program takes a clock for its timers. What remains are the turns of the event loop, the
 * slices of long computations, and random bytes of keys, tokens and uids.
 */
import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import type { Clock, Random, Timer } from "@kcp-ts/machinery/base";

const startWallMs = Date.UTC(2026, 0, 1);

interface SimulatedGlobals {
  nowMs: number;
  random: Random;
  /** Callbacks of `setImmediate` that have not run yet. */
  pendingTurns: number;
  /** Calls of `randomUUID`. */
  uuids: number;
  /** Timers of parts of the program that do not take its clock. */
  schedule: Clock["schedule"];
}

export const globals: SimulatedGlobals = {
  nowMs: 0,
  random: { next: () => 0 },
  pendingTurns: 0,
  uuids: 0,
  schedule: () => {
    throw new Error("no system runs");
  },
};

/** The event loop's own turn, for the driver. */
export const realTurn: (callback: () => void) => void = globalThis.setImmediate;

export function wallMs(): number {
  return startWallMs + globals.nowMs;
}

/** Sets time to its origin: what happens and is drawn afterwards depends on the seed alone. */
export function resetGlobals({
  random,
  schedule,
}: Pick<SimulatedGlobals, "random" | "schedule">): void {
  globals.nowMs = 0;
  globals.random = random;
  globals.schedule = schedule;
}

function randomBytes(size: number): Buffer {
  const bytes = Buffer.alloc(size);
  for (let at = 0; at < size; at++) bytes[at] = Math.floor(globals.random.next() * 256);
  return bytes;
}

function randomUuid(): string {
  globals.uuids++;
  const bytes = randomBytes(16);
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join("-");
}

/** One key for every signature: a key pair costs time, and none of the laws is about keys. */
function fixedKey(): crypto.KeyObject {
  const curve = crypto.createECDH("prime256v1");
  curve.setPrivateKey(crypto.createHash("sha256").update("simulation").digest());
  const point = curve.getPublicKey();
  const part = (from: number, to: number) => point.subarray(from, to).toString("base64url");
  const jwk = {
    kty: "EC",
    crv: "P-256",
    x: part(1, 33),
    y: part(33, 65),
    d: curve.getPrivateKey().toString("base64url"),
  };
  return crypto.createPrivateKey({ key: jwk, format: "jwk" });
}

/** Signatures of ECDSA contain a random number: here they are a digest, and verified as one. */
function digestSignature(data: crypto.BinaryLike): Buffer {
  return crypto.createHash("sha512").update(data).digest();
}

function install(): void {
  const key = fixedKey();
  const keys = { privateKey: key, publicKey: crypto.createPublicKey(key) };
  Object.assign(crypto, {
    randomBytes,
    randomUUID: randomUuid,
    generateKeyPairSync: () => keys,
    sign: (_hash: string, data: crypto.BinaryLike) => digestSignature(data),
    verify: (_hash: string, data: crypto.BinaryLike, _key: unknown, signature: Uint8Array) =>
      digestSignature(data).equals(signature),
  });
  syncBuiltinESMExports();
  Object.assign(Math, { random: () => globals.random.next() });
  Object.assign(Date, { now: wallMs });
  Object.assign(performance, { now: () => globals.nowMs });
  const setImmediate = (callback: (...args: unknown[]) => void, ...args: unknown[]) => {
    globals.pendingTurns++;
    const handle = { isDone: false };
    realTurn(() => {
      if (handle.isDone) return;
      handle.isDone = true;
      globals.pendingTurns--;
      callback(...args);
    });
    return handle;
  };
  const clearImmediate = (handle: { isDone: boolean } | undefined) => {
    if (handle === undefined || handle.isDone) return;
    handle.isDone = true;
    globals.pendingTurns--;
  };
  const setTimeout = (callback: () => void, delayMs = 0) => globals.schedule(delayMs, callback);
  const clearTimeout = (timer: Timer | undefined) => timer?.cancel();
  const setInterval = () => {
    throw new Error("intervals have no place in a simulation: take a Clock");
  };
  Object.assign(globalThis, {
    setImmediate,
    clearImmediate,
    setTimeout,
    clearTimeout,
    setInterval,
  });
}

install();
