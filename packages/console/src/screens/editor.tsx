/**
 * The YAML of an object, and its change: the server reads the text in a dry run, the difference is
 * shown, and only then it is written. A conflict is shown as what others have changed meanwhile.
 */
import { isStatusError } from "@kcp-ts/machinery/status";
import type { DynamicObject } from "@kcp-ts/sdk/client";
import { resourcePath } from "@kcp-ts/sdk/client";
import { useState } from "preact/hooks";
import { ErrorNotice, LongYaml } from "../elements/index.ts";
import { accessTo } from "../live/index.ts";
import { useSession } from "../session/index.ts";
import { DiffView, formatYaml, YamlField } from "../yaml-help/index.ts";
import { ActionButton } from "./action-button.tsx";
import type { ObjectProps } from "./object.tsx";

/** What the user works on: the text, and the state of the object that the text began from. */
interface Draft {
  readonly base: DynamicObject;
  readonly text: string;
}

type Step =
  | { readonly kind: "editing" }
  | { readonly kind: "review"; readonly outcome: DynamicObject }
  | { readonly kind: "conflict"; readonly theirs: DynamicObject };

function yamlOf({ metadata, ...rest }: DynamicObject, withManagers: boolean): string {
  const { managedFields, ...others } = metadata;
  const shown = withManagers ? { ...others, managedFields } : others;
  const { apiVersion, kind, ...content } = rest;
  return formatYaml({ apiVersion, kind, metadata: shown, ...content } as never);
}

/** The text of the version that the text is to replace: that of the newest object. */
function withVersion(text: string, version: string): string {
  return text.replace(/^( {2}resourceVersion: ).*$/m, `$1${JSON.stringify(version)}`);
}

export function Editor(props: ObjectProps) {
  const { resource, object } = props;
  const [base, setBase] = useState<DynamicObject | undefined>(undefined);
  const [isWritten, setWritten] = useState(false);
  const [isRevealed, setRevealed] = useState(resource.kind !== "Secret");
  if (!isRevealed)
    return (
      <p>
        <button type="button" onClick={() => setRevealed(true)}>
          Show the values of this Secret
        </button>
      </p>
    );
  if (base === undefined)
    return <Reader {...props} isWritten={isWritten} onEdit={() => setBase(object)} />;
  const leave = (isDone: boolean) => {
    setWritten(isDone);
    setBase(undefined);
  };
  return <Writer {...props} object={base} onLeave={leave} />;
}

interface ReaderProps extends ObjectProps {
  readonly isWritten: boolean;
  readonly onEdit: () => void;
}

function Reader({ cluster, resource, object, isWritten, onEdit }: ReaderProps) {
  const [withManagers, setWithManagers] = useState(false);
  const client = useSession().clientIn(cluster);
  return (
    <>
      <div class="bar">
        <ActionButton
          client={client}
          access={accessTo(resource, "update", object.metadata)}
          class="primary"
          onClick={onEdit}
        >
          Edit
        </ActionButton>
        <label class="check">
          <input
            type="checkbox"
            checked={withManagers}
            onChange={(event) => setWithManagers(event.currentTarget.checked)}
          />
          managedFields
        </label>
        {isWritten ? <span role="status">Written.</span> : null}
      </div>
      <LongYaml text={yamlOf(object, withManagers)} />
    </>
  );
}

interface WriterProps extends ObjectProps {
  readonly onLeave: (isWritten: boolean) => void;
}

/** The text is the server's to read: it is sent as it is. */
function useWriter({ cluster, resource, object, onLeave }: WriterProps) {
  const client = useSession().clientIn(cluster);
  const [draft, setDraft] = useState<Draft>({ base: object, text: yamlOf(object, false) });
  const [step, setStep] = useState<Step>({ kind: "editing" });
  const [error, setError] = useState<unknown>(undefined);
  const { name, namespace } = object.metadata;
  const put = async (isTrial: boolean) => {
    const query = `${isTrial ? "dryRun=All&" : ""}fieldManager=kcp-console&fieldValidation=Strict`;
    const path = `${resourcePath(resource, { name, namespace })}?${query}`;
    const request = { method: "PUT", path, text: draft.text } as const;
    return (await client.json({ ...request, contentType: "application/yaml" })) as never;
  };
  const attempt = async (isTrial: boolean) => {
    setError(undefined);
    try {
      const outcome: DynamicObject = await put(isTrial);
      if (isTrial) setStep({ kind: "review", outcome });
      else onLeave(true);
    } catch (failure) {
      if (!isStatusError(failure, "Conflict")) return setError(failure);
      const theirs = await client.resource(resource).get({ name, namespace });
      setStep({ kind: "conflict", theirs: theirs as DynamicObject });
    }
  };
  const send = (isTrial: boolean) => {
    attempt(isTrial).catch(setError);
  };
  const rebase = (theirs: DynamicObject) => {
    const version = theirs.metadata.resourceVersion ?? "";
    setDraft({ base: theirs, text: withVersion(draft.text, version) });
    setStep({ kind: "editing" });
  };
  return { draft, setDraft, step, setStep, error, send, rebase };
}

function Writer(props: WriterProps) {
  const client = useSession().clientIn(props.cluster);
  const { draft, setDraft, step, setStep, error, send, rebase } = useWriter(props);
  const before = yamlOf(draft.base, false);
  const next = {
    editing: { text: "Review the change", act: () => send(true) },
    review: { text: "Write", act: () => send(false) },
    conflict: {
      text: "Continue from the newest version",
      act: () => step.kind === "conflict" && rebase(step.theirs),
    },
  }[step.kind];
  return (
    <>
      <div class="bar">
        <ActionButton
          client={client}
          access={accessTo(props.resource, "update", props.object.metadata)}
          class="primary"
          onClick={next.act}
        >
          {next.text}
        </ActionButton>
        {step.kind === "editing" ? null : (
          <button type="button" onClick={() => setStep({ kind: "editing" })}>
            Back to the text
          </button>
        )}
        <button type="button" onClick={() => props.onLeave(false)}>
          Cancel
        </button>
      </div>
      {error === undefined ? null : <ErrorNotice error={error} />}
      {step.kind === "review" ? (
        <DiffView
          label="What the server would store"
          before={before}
          after={yamlOf(step.outcome, false)}
        />
      ) : null}
      {step.kind === "conflict" ? (
        <Conflict base={before} theirs={yamlOf(step.theirs, false)} mine={draft.text} />
      ) : null}
      {step.kind === "editing" ? (
        <YamlField
          client={client}
          kind={props.resource}
          label={`YAML of ${props.object.metadata.name}`}
          value={draft.text}
          onChange={(text) => setDraft({ ...draft, text })}
        />
      ) : null}
    </>
  );
}

function Conflict({ base, theirs, mine }: { base: string; theirs: string; mine: string }) {
  return (
    <>
      <p role="alert">
        Another client has changed this object since you began. Nothing of yours is written.
      </p>
      <h3>What others changed</h3>
      <DiffView label="What others changed" before={base} after={theirs} />
      <h3>What your text would change now</h3>
      <DiffView label="What your text would change now" before={theirs} after={mine} />
    </>
  );
}
