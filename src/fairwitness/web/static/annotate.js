// The keyboard of the annotation form. Without it the form works all the same, by mouse and tab.
"use strict";

const form = document.getElementById("answer");

function showSubLabels() {
  const chosen = form.querySelector("input[name=label]:checked");
  for (const set of form.querySelectorAll(".sub")) {
    set.classList.toggle("off", !chosen || set.dataset.label !== chosen.value);
  }
}

function press(code) {
  const button = document.querySelector(`button[data-press="${code}"]`);
  if (button) {
    button.click();
    return true;
  }
  for (const input of document.querySelectorAll(`input[data-key="${code}"]`)) {
    const set = input.closest(".sub");
    if (set && set.classList.contains("off")) continue;
    input.checked = input.type === "radio" ? true : !input.checked;
    input.dispatchEvent(new Event("change", { bubbles: true }));
    input.focus();
    return true;
  }
  return false;
}

// The number pad counts as well.
function plainCode(code) {
  return code === "NumpadEnter" ? "Enter" : code.replace(/^Numpad(?=\d$)/, "Digit");
}

document.addEventListener("keydown", (event) => {
  const code = plainCode(event.code);
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.isComposing) return;
  if (event.target.matches("input[type=text], input[type=password], textarea")) return;
  // Enter on a button or link does what that button or link does.
  if (code === "Enter" && event.target.matches("button, a")) return;
  if (press(code)) event.preventDefault();
});

if (form) {
  form.addEventListener("change", showSubLabels);
  showSubLabels();
  // A second press while the first answer is on its way must not be taken for an answer to the next text.
  let sent = false;
  form.addEventListener("submit", (event) => {
    if (sent) event.preventDefault();
    sent = true;
  });
}
