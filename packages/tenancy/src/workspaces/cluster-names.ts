/** Names of logical clusters in kcp's format: hashes of random bytes or of a user's name. */
import { createHash, randomBytes } from "node:crypto";
import type { ClusterName } from "@kcp-ts/machinery/names";

const randomBytesCount = 32;
const nameCharacters = 16;
const homeBytes = 8;

/** 83 random bits: names do not collide. */
export function newClusterName(): ClusterName {
  const hash = createHash("sha224").update(randomBytes(randomBytesCount)).digest();
  return base36(hash).slice(0, nameCharacters) as ClusterName;
}

/** The same name for the same user, for ever. */
export function homeClusterName(username: string): ClusterName {
  return base36(
    createHash("sha224").update(username).digest().subarray(0, homeBytes),
  ) as ClusterName;
}

/** Eight characters that denote a shard in an annotation. */
export function shardHash(shard: string): string {
  return base36(createHash("sha224").update(shard).digest()).slice(0, 8);
}

/** Digits, then letters; each leading zero byte becomes a leading zero. */
export function base36(bytes: Uint8Array): string {
  let zeros = 0;
  while (zeros < bytes.length && bytes[zeros] === 0) zeros++;
  const digits =
    zeros === bytes.length ? "" : BigInt(`0x${Buffer.from(bytes).toString("hex")}`).toString(36);
  return "0".repeat(zeros) + digits;
}
