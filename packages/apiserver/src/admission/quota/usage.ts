/** The status of a quota: what it limits, what is used, and the messages about both. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { type Amounts, formatAmount, minus, parseAmount, plus } from "@kcp-ts/machinery/quota";

/** The status of a quota, as text. */
export interface QuotaStatus {
  readonly hard: Readonly<Record<string, string>>;
  readonly used: Readonly<Record<string, string>>;
}

export function statusOf(quota: JsonObject): QuotaStatus {
  const { hard, used } = (quota["status"] ?? {}) as Partial<QuotaStatus>;
  return { hard: hard ?? {}, used: used ?? {} };
}

/** The amounts that the quota limits. */
export function limitedAmounts({ hard }: QuotaStatus, amounts: Amounts): Amounts {
  return new Map([...amounts].filter(([name]) => Object.hasOwn(hard, name)));
}

/** The reason why so much more exceeds the quota; undefined when it does not. */
export function quotaExceededMessage(
  quota: string,
  { hard, used }: QuotaStatus,
  amounts: Amounts,
): string | undefined {
  const unknown = [...amounts.keys()].filter((name) => !Object.hasOwn(used, name));
  if (unknown.length > 0)
    return `status unknown for quota: ${quota}, resources: ${unknown.toSorted().join(",")}`;
  const exceeded = [...amounts]
    .filter(([name, amount]) => {
      const next = plus(parseAmount(used[name]), amount);
      return amount.nanos > 0n && next.nanos > parseAmount(hard[name]).nanos;
    })
    .map(([name]) => name)
    .toSorted();
  if (exceeded.length === 0) return undefined;
  const shown = (of: (name: string) => string | undefined) =>
    exceeded.map((name) => `${name}=${of(name)}`).join(",");
  const requested = (name: string) => formatAmount(amounts.get(name) ?? parseAmount(undefined));
  return `exceeded quota: ${quota}, requested: ${shown(requested)}, used: ${shown((name) => used[name])}, limited: ${shown((name) => hard[name])}`;
}

/** The status with so much more, or less. */
export function withUsage(status: QuotaStatus, amounts: Amounts, sign: 1 | -1): QuotaStatus {
  const used = { ...status.used };
  for (const [name, amount] of amounts) {
    const present = parseAmount(used[name]);
    Object.defineProperty(used, name, {
      value: formatAmount(sign === 1 ? plus(present, amount) : minus(present, amount)),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return { ...status, used };
}
