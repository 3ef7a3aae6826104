"""A small scene that Blender's Cycles renders on the CPU, frame after frame.

    blender -b --factory-startup -P scene.py -- --frames 1000 --threads 1

A frame gets its name only when all of it is on disk, and one that has its name is not rendered
again: whoever starts it anew goes on at the first frame that is missing. SIGTERM and SIGINT end it
after the frame that is being rendered.
"""

import argparse
import math
import os
import signal
import sys

import bpy

parser = argparse.ArgumentParser(prog="scene.py")
parser.add_argument("--frames", type=int, default=1000)
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--samples", type=int, default=16)
parser.add_argument("--width", type=int, default=160)
parser.add_argument("--folder", default="frames")
arguments = parser.parse_args(sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else [])

stop = []
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda number, _frame: stop.append(number))

scene = bpy.context.scene
scene.render.engine = "CYCLES"
scene.cycles.device = "CPU"
scene.cycles.samples = arguments.samples
# Debian builds Blender without OpenImageDenoise, and a render that asks for it ends with an error.
scene.cycles.use_denoising = False
scene.render.threads_mode = "FIXED"
scene.render.threads = arguments.threads
scene.render.resolution_x = arguments.width
scene.render.resolution_y = arguments.width * 9 // 16
scene.render.resolution_percentage = 100
scene.render.image_settings.file_format = "PNG"


def material(name, colour, roughness, metallic):
    made = bpy.data.materials.new(name)
    made.use_nodes = True
    shader = made.node_tree.nodes["Principled BSDF"]
    shader.inputs["Base Color"].default_value = (*colour, 1.0)
    shader.inputs["Roughness"].default_value = roughness
    shader.inputs["Metallic"].default_value = metallic
    return made


bpy.ops.mesh.primitive_plane_add(size=40)
bpy.context.object.data.materials.append(material("floor", (0.6, 0.6, 0.65), 0.4, 0.0))
ring = 12
for place in range(ring):
    angle = 2 * math.pi * place / ring
    bpy.ops.mesh.primitive_uv_sphere_add(
        segments=48, ring_count=24, radius=0.7, location=(3 * math.cos(angle), 3 * math.sin(angle), 0.7)
    )
    bpy.ops.object.shade_smooth()
    colour = (0.5 + 0.5 * math.cos(angle), 0.5 + 0.5 * math.sin(angle), 0.4)
    bpy.context.object.data.materials.append(material(f"ball {place}", colour, 0.1 + 0.05 * place, place % 2))
bpy.data.objects["Cube"].location.z = 1.0

os.makedirs(arguments.folder, exist_ok=True)
camera = scene.camera
for frame in range(1, arguments.frames + 1):
    path = os.path.abspath(os.path.join(arguments.folder, f"frame-{frame:06}.png"))
    if os.path.exists(path):
        continue
    if stop:
        break
    # Once around in 240 frames.
    angle = 2 * math.pi * frame / 240
    camera.location = (9 * math.cos(angle), 9 * math.sin(angle), 5)
    camera.rotation_euler = (math.radians(65), 0, angle + math.pi / 2)
    scene.frame_set(frame)
    scene.render.filepath = path.replace("frame-", "partial-")
    bpy.ops.render.render(write_still=True)
    os.replace(scene.render.filepath, path)
