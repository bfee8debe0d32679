/** Small values: ages, states with a tone, labelled fields. */
import type { ComponentChildren } from "preact";

export type ToneName = "good" | "warn" | "bad" | "none";

const goodWords =
  /^(?:true|ready|running|active|bound|stable|available|succeeded|completed?|healthy|established|normal|allreplicasscheduled)$/i;
const badWords =
  /^(?:false|notready|failed|error|lost|unreachable|refused|blocked|crashloopbackoff|imagepullbackoff|unschedulable|unavailable|evicted|oomkilled)$/i;
const warnWords =
  /^(?:unknown|pending|starting|removing|replacing|terminating|deleting|draining|drained|recovering|warning|rolledback|initializing|scheduling|schedulingdisabled|partiallyscheduled|containercreating)$/i;

/** The tone of a word that Kubernetes uses for a state. */
export function statusTone(word: string): ToneName {
  if (/^\d+\/\d+$/.test(word)) {
    const [ready, wanted] = word.split("/");
    return ready === wanted ? "good" : "warn";
  }
  const tones = word.split(",").map((part) => {
    if (badWords.test(part)) return "bad";
    if (warnWords.test(part)) return "warn";
    return goodWords.test(part) ? "good" : "none";
  });
  return (["bad", "warn", "good"] as const).find((tone) => tones.includes(tone)) ?? "none";
}

/** A word with a mark of its tone: never by colour alone. */
export function Tone({ word, tone = statusTone(word) }: { word: string; tone?: ToneName }) {
  const marks = { good: "●", warn: "◐", bad: "▲", none: "" } as const;
  return (
    <span class={`tone ${tone}`}>
      {marks[tone] === "" ? null : <span aria-hidden="true">{marks[tone]}</span>}
      <span dir="auto">{word}</span>
    </span>
  );
}

export function Field({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div class="field">
      <dt>{name}</dt>
      <dd dir="auto">{children}</dd>
    </div>
  );
}

/** As kubectl says it: `5m`, `3h12m`, `8d`. */
export function ageText(timestamp: string | undefined, nowMs: number): string {
  const thenMs = Date.parse(timestamp ?? "");
  if (Number.isNaN(thenMs)) return "";
  const seconds = Math.max(0, Math.floor((nowMs - thenMs) / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return minutes % 60 === 0 ? `${hours}h` : `${hours}h${minutes % 60}m`;
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  return days < 730 ? `${days}d` : `${Math.floor(days / 365)}y`;
}
