/** Tabs and the panel of the one that is chosen: arrows, Home and End move between tabs. */
import type { ComponentChildren, TargetedKeyboardEvent } from "preact";
import { useId } from "preact/hooks";

interface TabsProps {
  readonly label: string;
  readonly tabs: readonly (readonly [key: string, text: string])[];
  readonly chosen: string;
  readonly onChoose: (key: string) => void;
  readonly children: ComponentChildren;
}

export function Tabs({ label, tabs, chosen, onChoose, children }: TabsProps) {
  const id = useId();
  const at = Math.max(
    0,
    tabs.findIndex(([key]) => key === chosen),
  );
  const onKey = (event: TargetedKeyboardEvent<HTMLElement>) => {
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[event.key];
    const [key] = to === undefined ? [] : (tabs.at(to % tabs.length) ?? []);
    if (key === undefined) return;
    event.preventDefault();
    onChoose(key);
    const buttons = event.currentTarget.querySelectorAll<HTMLElement>("[role=tab]");
    buttons[tabs.findIndex(([one]) => one === key)]?.focus();
  };
  return (
    <>
      <div class="tabs" role="tablist" aria-label={label} onKeyDown={onKey}>
        {tabs.map(([key, text], index) => (
          <button
            key={key}
            id={`${id}-${index}`}
            type="button"
            role="tab"
            aria-selected={index === at}
            aria-controls={`${id}-panel`}
            tabIndex={index === at ? 0 : -1}
            onClick={() => onChoose(key)}
          >
            {text}
          </button>
        ))}
      </div>
      <div id={`${id}-panel`} class="panel" role="tabpanel" aria-labelledby={`${id}-${at}`}>
        {children}
      </div>
    </>
  );
}
