"use strict";
for (const box of document.querySelectorAll(".cells")) {
  const cells = [...box.querySelectorAll(".c")];
  const said = box.parentElement.nextElementSibling;
  let at = -1;
  const show = (index) => {
    cells[at]?.classList.remove("on");
    at = index;
    cells[at].classList.add("on");
    cells[at].scrollIntoView({block: "nearest", inline: "nearest"});
    said.textContent = cells[at].querySelector("title").textContent;
  };
  box.addEventListener("pointerover", (event) => {
    const index = cells.indexOf(event.target.closest(".c"));
    if (index >= 0) show(index);
  });
  box.parentElement.addEventListener("keydown", (event) => {
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    if (!step || !cells.length) return;
    event.preventDefault();
    show(at < 0 ? 0 : (at + step + cells.length) % cells.length);
  });
}
