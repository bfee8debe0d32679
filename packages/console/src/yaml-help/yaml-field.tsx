/**
 * YamlField: a text area that suggests keys and values from the schema of the kind, and says what
 * the line at the cursor, or under the pointer, means. Ctrl-Space suggests, arrows select, Enter or
 * Tab takes, Escape leaves.
 */
import type { Client } from "@kcp-ts/sdk/client";
import type { TargetedKeyboardEvent } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useLoaded } from "../live/index.ts";
import { type Help, KindSchema, type OpenApiDocument, type Suggestion } from "./schema-help.ts";
import { positionAt } from "./yaml-place.ts";

interface YamlFieldProps {
  readonly client: Client;
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly label: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
}

interface Offered {
  readonly suggestions: readonly Suggestion[];
  readonly selected: number;
  /** What the suggestion replaces. */
  readonly start: number;
  readonly end: number;
}

const shownMax = 10;
/** As in the stylesheet. */
const linePixels = 18;
const paddingPixels = 10;

function useSchema(client: Client, kind: YamlFieldProps["kind"]): KindSchema | undefined {
  const { group, version } = kind;
  const path = group === "" ? `/openapi/v3/api/${version}` : `/openapi/v3/apis/${group}/${version}`;
  const { result } = useLoaded(
    async (signal) => (await client.json({ method: "GET", path, signal })) as OpenApiDocument,
    `${client.basePath} ${path}`,
  );
  return useMemo(
    () => (result === undefined ? undefined : new KindSchema(result, kind)),
    [result, kind.kind],
  );
}

export function YamlField({ client, kind, label, value, onChange }: YamlFieldProps) {
  const schema = useSchema(client, kind);
  const area = useRef<HTMLTextAreaElement>(null);
  const [offered, setOffered] = useState<Offered | undefined>(undefined);
  const [help, setHelp] = useState<Help | undefined>(undefined);
  const cursorTo = useRef<number | undefined>(undefined);
  useLayoutEffect(() => {
    if (cursorTo.current === undefined) return;
    area.current?.setSelectionRange(cursorTo.current, cursorTo.current);
    cursorTo.current = undefined;
  }, [value]);
  const explain = (offset: number) => {
    const end = value.indexOf("\n", offset);
    setHelp(schema?.helpAt(positionAt(value, end === -1 ? value.length : end)));
  };
  const offer = () => {
    const end = area.current?.selectionStart ?? 0;
    const place = positionAt(value, end);
    const typed = value.slice(place.start, end);
    const suggestions = schema?.suggestionsAt(place, typed).slice(0, shownMax) ?? [];
    setOffered({ suggestions, selected: 0, start: place.start, end });
  };
  const take = ({ start, end, suggestions, selected }: Offered) => {
    const { insert = "" } = suggestions[selected] ?? {};
    cursorTo.current = start + insert.length;
    setOffered(undefined);
    onChange(value.slice(0, start) + insert + value.slice(end));
  };
  const onKey = (event: TargetedKeyboardEvent<HTMLTextAreaElement>) => {
    const next = offered && nextOf(event.key, offered);
    if (event.key === " " && event.ctrlKey) offer();
    else if (offered === undefined) return;
    else if (event.key === "Escape") setOffered(undefined);
    else if (next !== undefined) setOffered({ ...offered, selected: next });
    else if (/^(?:Enter|Tab)$/.test(event.key) && offered.suggestions.length > 0) take(offered);
    else return setOffered(undefined);
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="yaml-field">
      <textarea
        ref={area}
        class="yaml"
        aria-label={label}
        aria-controls={offered === undefined ? undefined : "yaml-suggestions"}
        aria-activedescendant={
          offered === undefined ? undefined : `yaml-suggestion-${offered.selected}`
        }
        aria-describedby="yaml-help"
        spellcheck={false}
        value={value}
        onInput={(event) => {
          setOffered(undefined);
          onChange(event.currentTarget.value);
        }}
        onKeyDown={onKey}
        onKeyUp={(event) => explain(event.currentTarget.selectionStart)}
        onClick={(event) => explain(event.currentTarget.selectionStart)}
        onMouseMove={(event) => explain(offsetUnder(event.currentTarget, event, value))}
      />
      {offered === undefined ? null : (
        <Suggestions offered={offered} onTake={(selected) => take({ ...offered, selected })} />
      )}
      <p id="yaml-help" class="yaml-help" aria-live="polite">
        {helpText(offered?.suggestions[offered.selected], help)}
      </p>
    </div>
  );
}

interface SuggestionsProps {
  readonly offered: Offered;
  readonly onTake: (selected: number) => void;
}

function Suggestions({ offered: { suggestions, selected }, onTake }: SuggestionsProps) {
  return (
    <ul id="yaml-suggestions" role="listbox" aria-label="Suggestions" class="places">
      {suggestions.map(({ label, type, isRequired }, at) => (
        <li
          id={`yaml-suggestion-${at}`}
          key={label}
          role="option"
          aria-selected={at === selected}
          onClick={() => onTake(at)}
        >
          <code>{label}</code>
          <span class="quiet">{`${type}${isRequired ? ", required" : ""}`}</span>
        </li>
      ))}
      {suggestions.length === 0 ? (
        <li role="option" aria-selected={false}>
          The schema names nothing more here.
        </li>
      ) : null}
    </ul>
  );
}

function helpText(suggestion: Suggestion | undefined, help: Help | undefined): string {
  if (suggestion !== undefined) return `${suggestion.label}: ${suggestion.description}`;
  if (help === undefined) return "Ctrl-Space suggests what may be written here.";
  return `${help.path} (${help.type}) ${help.description}`;
}

function nextOf(key: string, { selected, suggestions }: Offered): number | undefined {
  if (key === "ArrowDown") return Math.min(selected + 1, suggestions.length - 1);
  return key === "ArrowUp" ? Math.max(selected - 1, 0) : undefined;
}

/** Lines do not wrap, so the pointer's line is known from its height. */
function offsetUnder(area: HTMLTextAreaElement, event: MouseEvent, text: string): number {
  const y = event.clientY - area.getBoundingClientRect().top + area.scrollTop - paddingPixels;
  const line = Math.max(0, Math.floor(y / linePixels));
  let offset = 0;
  for (let at = 0; at < line; at++) {
    const end = text.indexOf("\n", offset);
    if (end === -1) return text.length;
    offset = end + 1;
  }
  return offset;
}
