// @ts-check
// The form in which a comment is written, and what the room says to who writes.

import { byId, counted, fill, given } from "./kit/dom.js";
import { graphemes, sendOnEnter } from "./kit/text.js";
import { again } from "./kit/again.js";
import { Refused, call, random, remembered } from "./api.js";

/** A short break of the connection is nobody's business. */
const PATIENCE_MS = 1_000;

const said = given.said;

/**
 * Makes the form send without leaving the page. A comment that could not be sent stays in the form
 * and is tried again with the same id, so that it is said once.
 * @param {{ asHost?: boolean }} [how]
 */
export function compose({ asHost = false } = {}) {
  const form = byId("compose");
  const [text, count, button, problem, sent] = ["text", "count", "send", "problem", "sent"].map(byId);
  const nickname = form.elements.nickname;
  nickname.value ||= remembered("nagaya.live.nickname", () => "");
  nickname.addEventListener("change", () => {
    localStorage.setItem("nagaya.live.nickname", nickname.value);
  });
  let isSending = false;

  function measure() {
    const length = graphemes(text.value.trim());
    count.textContent = length ? `${length} / ${given.contentMax}` : "";
    const over = length - given.contentMax;
    const overName = graphemes(nickname.value.trim()) - given.nicknameMax;
    const most = Math.max(over, overName);
    problem.textContent = most > 0 ? counted(said.tooLong, most) : "";
    button.disabled = isSending || most > 0;
    return most <= 0;
  }

  /** @param {SubmitEvent} event */
  async function submit(event) {
    event.preventDefault();
    if (isSending || !measure() || !text.value.trim()) return;
    isSending = true;
    button.disabled = true;
    const body = { content: text.value, nickname: nickname.value, clientId: random() };
    let told = "";
    sent.textContent = "";
    try {
      const comment = await send(body, asHost, () => (problem.textContent = said.offline));
      text.value = "";
      if (comment.held) sent.textContent = said.waits;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      told = error.message;
    } finally {
      isSending = false;
      measure();
      problem.textContent = told;
      text.focus();
    }
  }

  form.addEventListener("submit", submit);
  form.addEventListener("input", measure);
  sendOnEnter(text);
  measure();
}

/**
 * @param {object} body
 * @param {boolean} asHost
 * @param {() => void} waiting
 */
async function send(body, asHost, waiting) {
  for (let tries = 0; ; tries += 1) {
    try {
      const answer = await call("POST", `/${given.room.roomId}/comments`, { body, asHost });
      return await answer.json();
    } catch (error) {
      if (error instanceof Refused) throw error;
      waiting();
      await new Promise((resolve) => again(tries, () => resolve(undefined)));
    }
  }
}

/**
 * Shows what the room is like.
 * @param {any} room
 */
export function showRoom(room) {
  given.room = room;
  const isOver = room.status !== "OPEN";
  const shown = {
    deleted: room.status === "DELETED",
    closed: room.status === "CLOSED",
    paused: room.paused && !isOver,
    slow: room.slowModeSeconds > 0 && !isOver,
    pre: room.moderation === "pre" && !isOver,
  };
  for (const [state, is] of Object.entries(shown)) byId(`state-${state}`).hidden = !is;
  fill(byId("states"), { seconds: room.slowModeSeconds });
  byId("compose").hidden = isOver;
}

let timer = 0;

/**
 * Shows whether there is a connection.
 * @param {boolean} is
 */
export function showConnected(is) {
  const notice = byId("state-offline");
  // Every try that fails tells so again; the time counts from the first.
  if (!is) timer ||= setTimeout(() => (notice.hidden = false), PATIENCE_MS);
  if (!is) return;
  clearTimeout(timer);
  timer = 0;
  notice.hidden = true;
}
